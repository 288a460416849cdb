/* common/map.c beside a plain list. */
#include <check.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"

#define MANY	5000

struct thing {
	struct map_node	 node;
	char		 key[24];
	size_t		 len;
	bool		 in;
};

static struct thing	 things[MANY];

static void
make_things(void)
{
	int	 i;

	memset(things, 0, sizeof(things));
	for (i = 0; i < MANY; i++) {
		snprintf(things[i].key, sizeof(things[i].key), "key%c%d",
		    i % 3 ? 'x' : '\0', i);
		/* NUL bytes count: "key" alone is none of these. */
		things[i].len = i % 3 ? strlen(things[i].key) :
		    4 + strlen(things[i].key + 4);
	}
}

START_TEST(test_many)
{
	struct map	 m;
	size_t		 count = 0;
	int		 i, round;

	ck_assert_int_ne(sodium_init(), -1);
	make_things();
	map_init(&m);
	ck_assert_ptr_null(map_find(&m, "a", 1));
	srand(1);
	for (round = 0; round < 100000; round++) {
		struct thing	*t = &things[rand() % MANY];

		if (t->in) {
			map_del(&m, &t->node);
			count--;
		} else {
			ck_assert_int_eq(map_add(&m, &t->node, t->key, t->len,
			    t), 0);
			count++;
		}
		t->in = !t->in;
		if (m.count != count)
			ck_abort_msg("count");
		t = &things[rand() % MANY];
		if (map_find(&m, t->key, t->len) != (t->in ? t : NULL))
			ck_abort_msg("%s", t->key);
	}
	for (i = 0; i < MANY; i++)
		ck_assert_ptr_eq(map_find(&m, things[i].key, things[i].len),
		    things[i].in ? &things[i] : NULL);
	ck_assert_ptr_null(map_find(&m, "key", 3));
	ck_assert_ptr_null(map_find(&m, "", 0));
	map_fini(&m);
	ck_assert_ptr_null(map_find(&m, "key", 3));
}
END_TEST

/* The newest of one key is found first; the empty key is one as well. */
START_TEST(test_same_key)
{
	struct map	 m;
	struct thing	 a = { .len = 0 }, b = a, none = a;

	ck_assert_int_ne(sodium_init(), -1);
	map_init(&m);
	ck_assert_int_eq(map_add(&m, &a.node, "k", 1, &a), 0);
	ck_assert_int_eq(map_add(&m, &b.node, "k", 1, &b), 0);
	ck_assert_int_eq(map_add(&m, &none.node, "", 0, &none), 0);
	ck_assert_ptr_eq(map_find(&m, "k", 1), &b);
	map_del(&m, &b.node);
	ck_assert_ptr_eq(map_find(&m, "k", 1), &a);
	map_del(&m, &a.node);
	ck_assert_ptr_null(map_find(&m, "k", 1));
	ck_assert_ptr_eq(map_find(&m, "", 0), &none);
	map_fini(&m);
}
END_TEST

/* A walk comes to each once, also if it removes those it comes to. */
START_TEST(test_walk)
{
	struct map	 m;
	struct thing	*t, *next;
	size_t		 i, n = 0;

	ck_assert_int_ne(sodium_init(), -1);
	make_things();
	map_init(&m);
	ck_assert_ptr_null(map_first(&m));
	for (i = 0; i < MANY; i++)
		ck_assert_int_eq(map_add(&m, &things[i].node, things[i].key,
		    things[i].len, &things[i]), 0);
	for (t = map_first(&m); t != NULL; t = map_next(&m, &t->node)) {
		ck_assert(!t->in);
		t->in = true;
		n++;
	}
	ck_assert_uint_eq(n, MANY);
	for (t = map_first(&m); t != NULL; t = next, n--) {
		next = map_next(&m, &t->node);
		map_del(&m, &t->node);
		memset(&t->node, 0xff, sizeof(t->node));
	}
	ck_assert_uint_eq(n, 0);
	ck_assert_uint_eq(m.count, 0);
	ck_assert_ptr_null(map_first(&m));
	map_fini(&m);
}
END_TEST

/* Nobody can know which keys collide. */
START_TEST(test_secret)
{
	struct map	 a, b;

	map_init(&a);
	map_init(&b);
	ck_assert_mem_ne(a.secret, b.secret, sizeof(a.secret));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("map");
	TCase	*t = tcase_create("map");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 30);
	tcase_add_test(t, test_many);
	tcase_add_test(t, test_same_key);
	tcase_add_test(t, test_walk);
	tcase_add_test(t, test_secret);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
