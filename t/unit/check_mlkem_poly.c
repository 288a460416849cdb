#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/noise/keccak.h"
#include "common/noise/mlkem_priv.h"

/* round(x * 2^bits / Q) and back, by divisions; halves go up. */
START_TEST(test_compress)
{
	unsigned int	 bits, v, want;

	for (bits = 1; bits < 12; bits++) {
		for (v = 0; v < MLKEM_Q; v++) {
			want = (2 * (v << bits) + MLKEM_Q) / (2 * MLKEM_Q);
			want %= 1u << bits;
			if (mlkem_compress((uint16_t)v, bits) != want)
				ck_abort_msg("%u to %u bits", v, bits);
		}
		for (v = 0; v < 1u << bits; v++) {
			want = (2 * v * MLKEM_Q + (1u << bits)) >> (bits + 1);
			if (mlkem_decompress((uint16_t)v, bits) != want ||
			    mlkem_compress((uint16_t)want, bits) != v)
				ck_abort_msg("%u from %u bits", v, bits);
		}
	}
}
END_TEST

/* Packed bytes of any value come back, where each value has one meaning. */
START_TEST(test_unpack)
{
	static const unsigned int	 lengths[] = { 1, 4, 10 };
	struct mlkem_poly		 p;
	uint8_t				 in[MLKEM_PACKED(10)], out[sizeof(in)];
	size_t				 i, n;

	for (n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++) {
		for (i = 0; i < sizeof(in); i++)
			in[i] = (uint8_t)(i * 37 + n);
		mlkem_unpack(&p, in, lengths[n]);
		for (i = 0; i < MLKEM_N; i++)
			ck_assert_uint_lt(p.c[i], MLKEM_Q);
		mlkem_pack(out, &p, lengths[n]);
		ck_assert_mem_eq(out, in, MLKEM_PACKED(lengths[n]));
	}
}
END_TEST

/* All that 12 bits can be; what is too large comes back reduced. */
START_TEST(test_12_bits)
{
	struct mlkem_poly	 p, q;
	uint8_t			 bytes[MLKEM_PACKED(12)];
	unsigned int		 v, i;

	for (v = 0; v < 4096; v += MLKEM_N) {
		for (i = 0; i < MLKEM_N; i++)
			p.c[i] = (uint16_t)(v + i);
		mlkem_pack(bytes, &p, 12);
		ck_assert_uint_eq(bytes[0], p.c[0] & 0xff);
		ck_assert_uint_eq(bytes[1], p.c[0] >> 8 | (p.c[1] & 15) << 4);
		ck_assert_uint_eq(bytes[2], p.c[1] >> 4);
		mlkem_unpack(&q, bytes, 12);
		for (i = 0; i < MLKEM_N; i++)
			ck_assert_uint_eq(q.c[i], p.c[i] % MLKEM_Q);
	}
}
END_TEST

/* Modulo X^256 + 1, the long way. */
static void
multiply(struct mlkem_poly *r, const struct mlkem_poly *a,
    const struct mlkem_poly *b)
{
	int64_t	 sum[MLKEM_N] = { 0 };
	int	 i, j;

	for (i = 0; i < MLKEM_N; i++) {
		for (j = 0; j < MLKEM_N; j++)
			sum[(i + j) % MLKEM_N] += a->c[i] * b->c[j] *
			    (i + j < MLKEM_N ? 1 : -1);
	}
	for (i = 0; i < MLKEM_N; i++)
		r->c[i] = (uint16_t)((sum[i] % MLKEM_Q + MLKEM_Q) % MLKEM_Q);
}

static void
ck_product(struct mlkem_poly a, struct mlkem_poly b)
{
	struct mlkem_poly	 want, sum, was;

	multiply(&want, &a, &b);
	was = a;
	mlkem_ntt(&a);
	sum = a;
	mlkem_ntt_inverse(&sum);
	ck_assert_mem_eq(&sum, &was, sizeof(was));
	mlkem_ntt(&b);
	memset(&sum, 0, sizeof(sum));
	mlkem_mul_add(&sum, &a, &b);
	mlkem_ntt_inverse(&sum);
	ck_assert_mem_eq(&sum, &want, sizeof(want));
}

START_TEST(test_ntt)
{
	struct mlkem_poly	 p[3], zero;
	struct keccak		 k;
	uint8_t			 bytes[MLKEM_PACKED(12)];
	int			 i, j;

	/* the largest, the smallest, and random ones */
	for (i = 0; i < MLKEM_N; i++) {
		p[0].c[i] = MLKEM_Q - 1;
		p[1].c[i] = (uint16_t)(i % 2 * (MLKEM_Q - 1));
		zero.c[i] = 0;
	}
	keccak_init(&k, KECCAK_SHAKE128);
	for (j = 0; j < 20; j++) {
		keccak_get(&k, bytes, sizeof(bytes));
		mlkem_unpack(&p[2], bytes, 12);
		for (i = 0; i < 3; i++)
			ck_product(p[i], p[2]);
	}
	ck_product(p[0], p[0]);
	ck_product(p[0], p[1]);
	ck_product(p[0], zero);
}
END_TEST

/* The largest sums that reduction meets, against a division. */
START_TEST(test_largest)
{
	struct mlkem_poly	 a, sum;
	uint64_t		 b = MLKEM_Q - 1;
	int			 i;

	for (i = 0; i < MLKEM_N; i++)
		a.c[i] = sum.c[i] = MLKEM_Q - 1;
	mlkem_mul_add(&sum, &a, &a);
	for (i = 1; i < MLKEM_N; i += 2)
		ck_assert_uint_eq(sum.c[i], (b + 2 * b * b) % MLKEM_Q);
	sum = a;
	mlkem_add(&sum, &a);
	for (i = 0; i < MLKEM_N; i++)
		ck_assert_uint_eq(sum.c[i], 2 * b % MLKEM_Q);
	memset(&sum, 0, sizeof(sum));
	mlkem_sub(&sum, &a);
	for (i = 0; i < MLKEM_N; i++)
		ck_assert_uint_eq(sum.c[i], 1);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("mlkem_poly");
	TCase	*t = tcase_create("mlkem_poly");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_compress);
	tcase_add_test(t, test_unpack);
	tcase_add_test(t, test_12_bits);
	tcase_add_test(t, test_ntt);
	tcase_add_test(t, test_largest);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
