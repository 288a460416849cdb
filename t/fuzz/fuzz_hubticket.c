/*
 * Tickets and the files of a hub.  The input is read as a ticket, as what a
 * ticket is made of, as a configuration and as tokens.
 */
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "master/hub/admit/hubconf.h"
#include "master/hub/admit/hubrules.h"
#include "master/hub/admit/hubtoken.h"
#include "master/hub/admit/ticket.h"

#define CHECK(claim)	do { if (!(claim)) abort(); } while (0)
#define NOW		1800000000

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nothing is good that was not written with our secret. */
static void
try_read(const struct ticket_keys *k, const char *text, size_t len)
{
	struct ticket	 t;
	int		 role;

	for (role = 0; role < TICKET_ROLES; role++)
		CHECK(ticket_read(k, (enum ticket_role)role, "e",
		    (struct span){ text, len }, NOW, 0, &t) == TICKET_FORGED);
}

static void
try_write(const struct ticket_keys *k, const uint8_t *data, size_t size)
{
	struct ticket	 t, got;
	char		 text[TICKET_MAX + 1];
	size_t		 n;

	if (size < sizeof(t))
		return;
	memcpy(&t, data, sizeof(t));
	t.subject[TICKET_SUBJECT_MAX] = t.labels[TICKET_LABELS_MAX] = '\0';
	t.made = NOW;
	t.until = NOW + (t.until & 0xffff);
	n = ticket_write(k, TICKET_EXECUTOR, "e", &t, text);
	CHECK(n <= TICKET_MAX && ticket_read(k, TICKET_EXECUTOR, "e",
	    (struct span){ text, n }, NOW, 0, &got) == TICKET_GOOD);
	CHECK(strcmp(got.subject, t.subject) == 0 &&
	    strcmp(got.labels, t.labels) == 0 &&
	    memcmp(&got.key, &t.key, sizeof(t.key)) == 0);
}

static void
try_files(const uint8_t *data, size_t size)
{
	struct subject_is	 who = { .name = "token:a" };
	struct hubconf		 c;
	struct hubtokens	 t;
	struct conf_error	 e;
	char			*text;

	if ((text = malloc(size + 1)) == NULL)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	if (hubtokens_parse(&t, "/t", text, size, &e) == 0)
		hubtokens_fini(&t);
	memcpy(text, data, size);
	text[size] = '\0';
	CHECK(hubconf_init(&c) == 0);
	if (hubconf_parse(&c, "/c", text, size, NULL, NULL, &e) == 0 &&
	    hubrules_check(&c, &e) == 0) {
		CHECK(!hubrules_may_register(&c, &who, "e") || c.nrule > 0);
		CHECK(strlen(hubrules_labels(&c, &who)) <= TICKET_LABELS_MAX);
		CHECK(hubrules_may_connect(&c, &who, "e", NULL) == RULES_NO ||
		    c.nrule > 0);
	}
	hubconf_fini(&c);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ticket_keys	 k = { 0 };

	CHECK(ticket_keys_add(&k, "0123456789abcdef0123456789abcdef", 32) ==
	    0);
	try_read(&k, (const char *)data, size);
	try_write(&k, data, size);
	try_files(data, size);
	return 0;
}
