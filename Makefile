# execsrv.  "make" is all it takes: configure is made and run in the build
# folder first, and again when it has to be.  See contrib/HACKING.

ifneq ($(words $(CURDIR)),1)
$(error make knows no blanks in names: please move these sources out of \
    "$(CURDIR)")
endif
BUILD		= build
override BUILD	:= $(abspath $(BUILD))
ifeq ($(BUILD),$(CURDIR))
$(error BUILD must be a folder of its own, the sources stay clean)
endif

# What configure is told.  Kept in the build folder until told otherwise.
#CONFIGURE_ARGS	= --prefix=/usr --sysconfdir=/etc

# Which tests: T=2 those whose number starts with 2.
T		=
# How many side by side: most of them wait for something most of the time.
JOBS		= $(shell echo $$(($$(nproc) + 1)))
# Seconds for one test, and for one fuzz target.
TEST_TIMEOUT	= 300
N		= 60
# One fuzz target only: F=ws
F		=
# The tests of distcheck, as T.  Empty: all of them.
DISTCHECK_T	= 1

.DEFAULT_GOAL	:= all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS	+= --no-builtin-rules --no-print-directory
ifneq ($(V),1)
Q		= @
# Nothing with "make -s".
say		= $(if $(findstring s,$(filter-out --%,\
		  $(firstword -$(MAKEFLAGS)))),,@printf '  %-9s%s\n' $(1) \
		  '$(patsubst $(BUILD)/%,%,$(2))')
endif

# --- configuration -----------------------------------------------------------

ifneq ($(filter-out clean distclean,$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/config.mk
endif

$(BUILD)/configure: configure.ac
	$(call say,AUTOCONF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)cd $(@D) && rm -f configure && \
	    autoconf -o configure $(CURDIR)/configure.ac

# Rewritten when the words change, so that configure runs again.
ifneq ($(origin CONFIGURE_ARGS),undefined)
$(BUILD)/configure.args: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' "$(CONFIGURE_ARGS)" | cmp -s - $@ || \
	    printf '%s\n' "$(CONFIGURE_ARGS)" >$@
else
$(BUILD)/configure.args:
	$(Q)mkdir -p $(@D)
	$(Q)echo >$@
endif

$(BUILD)/config.mk: $(BUILD)/configure $(BUILD)/configure.args \
    contrib/build/config.mk.in contrib/build/config.h.in
	$(call say,CONFIG,$(BUILD))
	$(Q)cd $(@D) && eval "set -- $$(cat configure.args)" && \
	    ./configure -q --srcdir=$(CURDIR) "$$@"
	$(Q)touch $@

# --- what is made of what ----------------------------------------------------

objs		= $(patsubst %.c,$(BUILD)/%.o,$(1))
not_main	= $(filter-out %/main.o,$(1))

PROTOS		:= $(wildcard proto/*.proto)
GEN_C		:= $(PROTOS:%.proto=$(BUILD)/%.pb-c.c)
GEN_H		:= $(GEN_C:.c=.h)
GEN_O		:= $(GEN_C:.c=.o)

COMMON_ROOMS	:= conf ipc json linux net plan process toml
COMMON_O	:= $(call objs,$(wildcard common/*.c \
		   $(COMMON_ROOMS:%=common/%/*.c))) $(GEN_O)
# What needs libwebsockets and libcrypto, an archive of its own.
DIAL_ROOMS	:= noise dial
DIAL_O		:= $(call objs,$(wildcard $(DIAL_ROOMS:%=common/%/*.c)))
CLIENT_ROOMS	:= transport process serve ongoing carry
CLIENT_C	:= $(wildcard common/client/*.c \
		   $(CLIENT_ROOMS:%=common/client/%/*.c))
CLIENT_O	:= $(call objs,$(CLIENT_C))
MASTER_ROOMS	:= logs auth workers accept remote adopt ctl
MASTER_O	:= $(call objs,$(wildcard master/*.c \
		   $(MASTER_ROOMS:%=master/%/*.c)))
WORKER_ROOMS	:= os fs fs/discovery conn sandbox proc http proxy session rpc
WORKER_O	:= $(call objs,$(wildcard worker/*.c \
		   $(WORKER_ROOMS:%=worker/%/*.c)))
HTTP_SHARED	:= $(call objs,worker/sandbox/enforce_seccomp.c)
HTTP_O		:= $(call objs,$(wildcard worker/http/helper/*.c)) \
		   $(HTTP_SHARED)
PROXY_O		:= $(call objs,$(wildcard worker/proxy/helper/*.c))
FORWARD_O	:= $(call objs,$(wildcard worker/forward/*.c))
CTL_O		:= $(call objs,$(wildcard master/execsrvctl/*.c \
		   master/execsrvctl/*/*.c))
UPLINK_O	:= $(call objs,$(wildcard master/uplink/*.c))
HUB_O		:= $(call objs,$(wildcard master/hub/*.c master/hub/*/*.c))
# What it shares with the server.
HUB_SHARED	:= $(call objs,$(patsubst %,master/auth/%.c,\
		   jwks jwt penalty tokenline))
REACH_O		:= $(call objs,$(wildcard common/client/reach/*.c))

# The archives, and what is in them.  A program takes its own objects and the
# archives below it; tests take the archives only, in this order.
ARCHIVES	:= worker http proxy forward master reach uplink hub ctl client \
		   dial common
LIB_common	:= $(COMMON_O)
LIB_dial	:= $(DIAL_O)
LIB_client	:= $(CLIENT_O)
LIB_master	:= $(call not_main,$(MASTER_O))
LIB_worker	:= $(call not_main,$(WORKER_O))
LIB_http	:= $(filter-out %/main.o $(HTTP_SHARED),$(HTTP_O))
LIB_proxy	:= $(call not_main,$(PROXY_O))
LIB_forward	:= $(call not_main,$(FORWARD_O))
LIB_ctl		:= $(call not_main,$(CTL_O))
LIB_uplink	:= $(call not_main,$(UPLINK_O))
LIB_reach	:= $(call not_main,$(REACH_O))
LIB_hub		:= $(call not_main,$(HUB_O))
LIB_unit	:= $(call objs,$(filter-out t/unit/check_%,\
		   $(wildcard t/unit/*.c)))
lib		= $(patsubst %,$(BUILD)/lib%.a,$(1))
TEST_LIBS	:= $(call lib,unit $(ARCHIVES))

# libexecsrv, as others link it: its own objects and what they need of ours,
# position-independent; only what execsrv.h declares is to be seen.
LIB_H		:= common/client/execsrv.h
LIB_NEEDS	:= buf clock fd outq span json/b64 json/json json/json_out \
		   json/uri json/utf8 net/endpoint net/httphead \
		   net/httpwhy net/inflight net/sha1 \
		   net/tcp net/ws process/envlist process/program \
		   process/signals
LIB_O		:= $(patsubst %.c,$(BUILD)/pic/%.o,\
		   $(CLIENT_C) $(LIB_NEEDS:%=common/%.c))
# Another number when a program would have to be built anew.
LIB_ABI		:= 0
LIB_SO		:= libexecsrv.so.$(LIB_ABI)
LIB_FILE	:= $(LIB_SO).0.0
LIBRARY		:= $(addprefix $(BUILD)/,libexecsrv.a libexecsrv.so \
		   libexecsrv.pc)

# Of measured programs only: lets LeakSanitizer see what they hide from others.
LEAKS_O		:= $(if $(findstring address,$(SANITIZERS)),\
		   $(call objs,contrib/build/leaks.c))

# The programs: NAME_O are the objects of one, NAME_A the archives below it,
# NAME_L libraries that others do without, NAME_DIR where it is installed.
# Everybody else who wants a list of them reads BUILD/programs.
PROGRAMS	:= execsrvd execsrv-worker execsrv-http execsrv-proxy \
		   execsrv-forward execsrv-uplink execsrv-reach \
		   execsrv-hub execsrvctl
execsrvd_O	:= $(MASTER_O) $(LEAKS_O)
execsrvd_A	:= common
execsrvd_L	= $(NETTLE_LIBS)
execsrvd_DIR	= $(sbindir)
execsrv-worker_O := $(WORKER_O) $(LEAKS_O)
execsrv-worker_A := common
execsrv-worker_L = $(YAML_LIBS)
execsrv-worker_DIR = $(libexecdir)/execsrv
execsrv-http_O	:= $(HTTP_O) $(LEAKS_O)
execsrv-http_A	:= common
execsrv-http_L	= $(CURL_LIBS)
execsrv-http_DIR = $(libexecdir)/execsrv
execsrv-proxy_O	:= $(PROXY_O) $(LEAKS_O)
execsrv-proxy_A	:= common
execsrv-proxy_L	= $(CARES_LIBS)
execsrv-proxy_DIR = $(libexecdir)/execsrv
execsrv-forward_O := $(FORWARD_O) $(LEAKS_O)
execsrv-forward_A := common
execsrv-forward_DIR = $(libexecdir)/execsrv
execsrv-uplink_O := $(UPLINK_O) $(LEAKS_O)
execsrv-uplink_A := dial common
execsrv-uplink_L = $(WEBSOCKETS_LIBS) $(CRYPTO_LIBS)
execsrv-uplink_DIR = $(libexecdir)/execsrv
execsrv-reach_O	:= $(REACH_O) $(LEAKS_O)
execsrv-reach_A	:= dial common
execsrv-reach_L	= $(WEBSOCKETS_LIBS) $(CRYPTO_LIBS)
execsrv-reach_DIR = $(libexecdir)/execsrv
execsrv-hub_O	:= $(HUB_O) $(HUB_SHARED) $(LEAKS_O)
execsrv-hub_A	:= dial common
execsrv-hub_L	= $(CRYPTO_LIBS) $(NETTLE_LIBS)
execsrv-hub_DIR	= $(sbindir)
execsrvctl_O	:= $(CTL_O)
execsrvctl_A	:= client common
execsrvctl_DIR	= $(bindir)

UNIT		:= $(patsubst t/unit/%.c,$(BUILD)/t/%,\
		   $(sort $(wildcard t/unit/check_*.c)))
# A fuzz target is also a test: its seeds once through, with any compiler.
FUZZ		:= $(sort $(wildcard t/fuzz/fuzz_*.c))
SEEDS		:= $(FUZZ:t/fuzz/%.c=$(BUILD)/t/seeds_%)
FUZZERS		:= $(FUZZ:t/fuzz/%.c=$(BUILD)/t/%)
# Programs that tests of the whole start, a source file each.
TOOLS		:= $(patsubst t/sys/%.c,$(BUILD)/t/%,$(wildcard t/sys/*.c))
MAN		:= $(patsubst %.in,%,$(wildcard $(patsubst %,man/*.%,\
		   1 3 5 7 8 1.in 3.in 5.in 7.in 8.in)))
SAMPLE		:= $(patsubst %,$(BUILD)/%,$(wildcard contrib/*.conf))
# What service managers want: FILE=MODE:FOLDER/NAME, if the folder is set.
place		= $(if $(4),$(1)=$(2):$(4)/$(3))
UNIT_DIR	= $(systemdsystemunitdir)
SERVICE		= \
    $(call place,systemd/execsrvd.service,644,execsrvd.service,$(UNIT_DIR)) \
    $(call place,systemd/execsrvd.socket,644,execsrvd.socket,$(UNIT_DIR)) \
    $(call place,systemd/execsrv-hub.service,644,execsrv-hub.service,$(UNIT_DIR)) \
    $(call place,systemd/sysusers.conf,644,execsrv.conf,$(sysusersdir)) \
    $(call place,systemd/tmpfiles.conf,644,execsrv.conf,$(tmpfilesdir)) \
    $(call place,init/execsrvd,755,execsrvd,$(initdir)) \
    $(call place,init/execsrv-hub,755,execsrv-hub,$(initdir))
# The file, its mode and its place.
service_file	= $(BUILD)/contrib/$(firstword $(subst =, ,$(1)))
service_mode	= $(word 2,$(subst =, ,$(subst :, ,$(1))))
service_place	= $(DEST)$(word 3,$(subst =, ,$(subst :, ,$(1))))
COMPLETION	= $(addprefix $(BUILD)/contrib/completion/,bash zsh)
ROTATE		= $(BUILD)/contrib/logrotate/execsrvd
# The package for npm, complete but for what tsc makes.
TS_OWN		:= $(wildcard contrib/typescript/*.* contrib/typescript/test/*)
TYPESCRIPT	:= $(TS_OWN:%=$(BUILD)/%) $(addprefix \
		   $(BUILD)/contrib/typescript/,protocol.ts protocol.schema.json)
SERVICE_MADE	:= $(patsubst %.in,$(BUILD)/%,$(wildcard contrib/systemd/*.in \
		   contrib/init/*.in contrib/logrotate/*.in))

NET_LIBS	= $(EVENT_LIBS) $(SODIUM_LIBS) $(PROTOBUF_C_LIBS)
# Tests are linked with every archive.
TEST_NET_LIBS	= $(NET_LIBS) $(YAML_LIBS) $(CURL_LIBS) $(CARES_LIBS) $(WEBSOCKETS_LIBS) $(CRYPTO_LIBS) $(NETTLE_LIBS)

COMPILE		= $(CC) $(CPPFLAGS) $(BASE_CPPFLAGS) $(BASE_CFLAGS)
LINK		= $(CC) $(BASE_CFLAGS) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS)

all: $(PROGRAMS:%=$(BUILD)/%) $(BUILD)/programs $(LIBRARY) \
    $(MAN:%=$(BUILD)/%) $(BUILD)/man/man3/made $(TYPESCRIPT) $(SAMPLE) $(SERVICE_MADE) $(COMPLETION)

# Only what is written so far: handy while a program does not link yet.
lib: $(call lib,$(ARCHIVES))

$(foreach p,$(PROGRAMS),\
    $(eval $(BUILD)/$(p): $($(p)_O) $(call lib,$($(p)_A))))
$(PROGRAMS:%=$(BUILD)/%):
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) $(NET_LIBS) $($(@F)_L) $(LIBS)

$(BUILD)/programs: Makefile
	$(Q)printf '%s\n' $(PROGRAMS) >$@

LIB_MAP		= contrib/build/libexecsrv.map
LIB_LDFLAGS	= $(filter-out -pie,$(BASE_LDFLAGS)) -shared \
		  -Wl,-soname,$(LIB_SO) -Wl,--version-script=$(LIB_MAP) \
		  $(if $(SANITIZERS),,-Wl,-z,defs)

$(BUILD)/$(LIB_FILE): $(LIB_O) $(LIB_MAP)
	$(call say,LINK,$@)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(LIB_LDFLAGS) $(LDFLAGS) -o $@ \
	    $(LIB_O) $(SODIUM_LIBS) $(LIBS)

$(BUILD)/libexecsrv.so: $(BUILD)/$(LIB_FILE)
	$(Q)ln -sf $(LIB_FILE) $(BUILD)/$(LIB_SO)
	$(Q)ln -sf $(LIB_SO) $@

# One object, so that no name of ours meets one of the program's.
$(BUILD)/libexecsrv.a: $(LIB_O)
	$(call say,AR,$@)
	$(Q)$(CC) -r -nostdlib -o $(BUILD)/pic/libexecsrv.o $(LIB_O)
	$(Q)$(OBJCOPY) --localize-hidden $(BUILD)/pic/libexecsrv.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(BUILD)/pic/libexecsrv.o

$(BUILD)/libexecsrv.pc: contrib/build/libexecsrv.pc.in $(BUILD)/config.mk
	$(call say,PC,$@)
	$(Q)$(call FILL,$<,$@)

$(BUILD)/pic/%.o: %.c $(BUILD)/config.mk
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(COMPILE) $(WARN_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden \
	    -MD -MP -MT $@ -c -o $@ $<

$(BUILD)/lib%.a: $(BUILD)/lib%.list
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(LIB_$*)

# Changes when a file comes or goes, so that no archive keeps a dead object.
$(BUILD)/lib%.list: FORCE
	$(Q)printf '%s\n' $(LIB_$*) | cmp -s - $@ || \
	    printf '%s\n' $(LIB_$*) >$@

$(foreach l,$(ARCHIVES) unit,\
    $(eval $(BUILD)/lib$(l).a: $(LIB_$(l))))

$(BUILD)/%.o: %.c $(BUILD)/config.mk | $(GEN_H)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(COMPILE) $(WARN_CFLAGS) $(CFLAGS) -MD -MP -MT $@ -c -o $@ $<

# Run once: what counts is the time to compile them, which is less than half.
$(BUILD)/t/unit/%.o: CFLAGS += -O0 -U_FORTIFY_SOURCE

$(GEN_O): %.o: %.c $(BUILD)/config.mk
	$(call say,CC,$@)
	$(Q)$(COMPILE) -w $(CFLAGS) -MD -MP -MT $@ -c -o $@ $<

$(BUILD)/proto/%.pb-c.c $(BUILD)/proto/%.pb-c.h: proto/%.proto \
    | $(BUILD)/config.mk
	$(call say,PROTOC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(PROTOC_C) --c_out=$(BUILD) $<

# Lists in manuals and in the sample of the settings are the rows themselves.
ROWS2MDOC	= contrib/build/rows2mdoc
DEFS		:= $(wildcard proto/*.def)
# A path below prefix, as a .pc file has it, so that the tree can be moved.
pc_path		= $(patsubst $(prefix)/%,$${prefix}/%,$(1))
FILL		= sed -e 's|@VERSION@|$(VERSION)|g' \
		  -e 's|@prefix@|$(prefix)|g' \
		  -e 's|@pc_libdir@|$(call pc_path,$(libdir))|g' \
		  -e 's|@pc_includedir@|$(call pc_path,$(includedir))|g' \
		  -e 's|@bindir@|$(bindir)|g' -e 's|@sbindir@|$(sbindir)|g' \
		  -e 's|@libexecdir@|$(libexecdir)|g' \
		  -e 's|@sysconfdir@|$(sysconfdir)|g' \
		  -e 's|@localstatedir@|$(localstatedir)|g' \
		  -e 's|@runstatedir@|$(runstatedir)|g' \
		  -e 's|@includedir@|$(includedir)|g' \
		  -e 's|@libdir@|$(libdir)|g' $(1) | \
		  $(PYTHON) $(ROWS2MDOC) proto >$(2)

$(BUILD)/man/%: man/%.in $(ROWS2MDOC) $(DEFS) $(LIB_H) $(BUILD)/config.mk
	$(call say,MAN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(call FILL,$<,$@)

# A page for the calls of each section of execsrv.h, a link for each call.
$(BUILD)/man/man3/made: man/libexecsrv.calls $(ROWS2MDOC) $(LIB_H) \
    $(BUILD)/config.mk
	$(call say,MAN,$(@D))
	$(Q)rm -rf $(@D) && mkdir -p $(@D)
	$(Q)$(PYTHON) $(ROWS2MDOC) proto $< $(@D) $(VERSION)
	$(Q)touch $@

$(BUILD)/contrib/%.conf: contrib/%.conf $(ROWS2MDOC) $(DEFS) $(BUILD)/config.mk
	$(call say,CONF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(call FILL,$<,$@)

$(SERVICE_MADE): $(BUILD)/%: %.in $(ROWS2MDOC) $(BUILD)/config.mk
	$(call say,FILL,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(call FILL,$<,$@)

$(BUILD)/contrib/completion/%: contrib/build/rows2completion $(ROWS2MDOC) \
    $(DEFS) master/main.c master/auth/auth_options.h master/remote/remote_options.h \
    $(BUILD)/config.mk
	$(call say,ROWS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(PYTHON) $< proto $* >$@

$(BUILD)/contrib/typescript/protocol.ts: TYPES = ts
$(BUILD)/contrib/typescript/protocol.schema.json: TYPES = schema
$(filter %/protocol.ts %.schema.json,$(TYPESCRIPT)): \
    contrib/build/rows2types $(ROWS2MDOC) $(DEFS) \
    common/client/calls.def common/client/jsonmaps.def
	$(call say,ROWS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(PYTHON) $< proto $(TYPES) >$@.new
	$(Q)mv $@.new $@

$(TS_OWN:%=$(BUILD)/%): $(BUILD)/%: %
	$(Q)mkdir -p $(@D)
	$(Q)cp $< $@

$(BUILD)/man/%: man/%
	$(Q)mkdir -p $(@D)
	$(Q)cp $< $@

# --- tests -------------------------------------------------------------------

# Both sides of a conversation use the same names (on_hello, link_send): the
# side whose headers the test includes is asked first.
test_libs = $$(grep -q '"master/' $(1) && echo $(call lib,master)) \
	    -Wl,--start-group $(TEST_LIBS) -Wl,--end-group

# Our calls of these go by way of t/unit/fault.c, which lets them fail; it is
# linked also where none of ours calls them, as the library "check" does.
FAULTS		:= asprintf vasprintf __asprintf_chk __vasprintf_chk \
		   _mark_point \
		   $(shell sed -n 's/^[A-Z]\{3,\}.\([a-z0-9_]*\).*/\1/p' t/unit/fault.def)

$(UNIT): $(BUILD)/t/%: $(BUILD)/t/unit/%.o
$(UNIT): $(BUILD)/t/%: t/unit/%.c $(TEST_LIBS)
	$(call say,LINK,$@)
	$(if $(CHECK_LIBS),,$(error unit tests want the library "check" \
	    (apt-get install check; rm $(BUILD)/config.mk)))
	$(Q)$(LINK) -o $@ $(FAULTS:%=-Wl,--wrap=%) -Wl,-u,__wrap_free \
	    $(BUILD)/t/unit/$*.o $(call test_libs,t/unit/$*.c) \
	    $(CHECK_LIBS) $(TEST_NET_LIBS) $(LIBS)

$(SEEDS): $(BUILD)/t/seeds_%: $(BUILD)/t/fuzz/%.o
$(SEEDS): $(BUILD)/t/seeds_%: t/fuzz/%.c $(BUILD)/contrib/build/seeds.o \
    $(TEST_LIBS)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $(BUILD)/t/fuzz/$*.o \
	    $(BUILD)/contrib/build/seeds.o $(call test_libs,t/fuzz/$*.c) \
	    $(TEST_NET_LIBS) $(LIBS)

# These need the entry point that libFuzzer brings: clang only, see "fuzz".
$(FUZZERS): $(BUILD)/t/%: $(BUILD)/t/fuzz/%.o
$(FUZZERS): $(BUILD)/t/%: t/fuzz/%.c $(TEST_LIBS)
	$(call say,LINK,$@)
	$(Q)$(LINK) -fsanitize=fuzzer -o $@ $(BUILD)/t/fuzz/$*.o \
	    $(call test_libs,t/fuzz/$*.c) $(TEST_NET_LIBS) $(LIBS)

$(TOOLS): $(BUILD)/t/%: $(BUILD)/t/sys/%.o $(call lib,dial client common)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) $(NET_LIBS) $(TOOL_LIBS) $(LIBS)

# The other end of the uplink's streams.
$(BUILD)/t/8noise: TOOL_LIBS = $(CRYPTO_LIBS)

# Tests are programs: 0 is pass, 77 skip, the rest fail.
RUN_TESTS	= $(PYTHON) contrib/build/run-tests --build $(BUILD) \
		  --jobs $(JOBS) --timeout $(TEST_TIMEOUT) --select '$(T)' \
		  --sanitizers '$(SANITIZERS)'
UNIT_TESTS	= $(if $(T),,$(UNIT:%=unit:%) $(SEEDS:%=seeds:%))
NNN		= [0-9][0-9][0-9]
# Of two with one name the shell script is the test, and calls the other.
scripts		= $(sort $(wildcard $(1)/$(NNN)-*.sh) $(filter-out \
		  $(patsubst %.sh,%.py,$(wildcard $(1)/$(NNN)-*.sh)),\
		  $(wildcard $(1)/$(NNN)-*.py)))
OTHER_TESTS	= $(patsubst %,wire:%,$(wildcard t/wire/run.py)) \
		  $(patsubst %,sys:%,$(call scripts,t/sys)) \
		  $(patsubst %,stock:%,$(sort $(wildcard t/stock/[0-9]*.py)))
SLOW_TESTS	= $(patsubst %,t/sys/%.py,003-reads-nothing 004-no-leaks \
		  503-takeover 812-rendezvous 815-drops 843-fleet)
# Where the stock client is kept, for the builds below this one too.
STOCK_DIR	?= $(BUILD)/stock
export STOCK_DIR

check: all $(if $(T),,$(UNIT) $(SEEDS)) $(TOOLS)
	$(if $(filter 8%,$(or $(T),8)),$(Q)sh t/stock/get-client $(STOCK_DIR))
	$(Q)$(RUN_TESTS) $(UNIT_TESTS) $(OTHER_TESTS)

# What takes minutes each: campaigns, and the slow cases of those in check.
check-long: TEST_TIMEOUT = 7200
check-long: all $(TOOLS)
	$(Q)SLOW=1 $(RUN_TESTS) $(patsubst %,sys:%,$(SLOW_TESTS) \
	    $(call scripts,t/long))
	$(if $(T),,$(Q)$(PYTHON) t/wire/run.py --build $(BUILD) --slow 530)
	$(if $(T),,+$(Q)$(MAKE) check-vm MAY_SKIP=yes)

# Debians of their own, each with its kernel and systemd; some 10 minutes.  An
# error as well if one is skipped, but not in check-long.
check-vm: dist
	$(Q)sh t/vm/run $(BUILD) bookworm trixie $(if $(MAY_SKIP),|| [ $$? -eq 77 ])

unit: $(UNIT) $(SEEDS)
	$(Q)$(RUN_TESTS) $(UNIT_TESTS)

# The same suite in a build folder of its own.
san:
	+$(Q)$(MAKE) BUILD=$(BUILD)/san check \
	    CONFIGURE_ARGS='--enable-sanitizers=address,undefined'

# A failing test does not hide the figures.
cover:
	+$(Q)find $(BUILD)/cover -name '*.gcda' -delete 2>/dev/null; \
	$(MAKE) BUILD=$(BUILD)/cover check \
	    CONFIGURE_ARGS='--enable-coverage'; status=$$?; \
	$(PYTHON) contrib/build/coverage $(BUILD)/cover && exit $$status

FUZZ_ARGS	= CC=clang --enable-sanitizers=$(FUZZ_SANITIZERS)
FUZZ_SANITIZERS	= fuzzer-no-link,address,undefined
fuzz:
	+$(Q)$(MAKE) BUILD=$(BUILD)/fuzz fuzz-run CONFIGURE_ARGS='$(FUZZ_ARGS)'

FUZZ_CHOSEN	= $(if $(F),$(filter %/fuzz_$(F) %/$(F),$(FUZZERS)),$(FUZZERS))
fuzz-run: $(FUZZ_CHOSEN)
	$(Q)sh contrib/build/run-fuzz $(BUILD) $(N) $(FUZZ_CHOSEN)

$(BUILD)/bench/bench: $(call objs,$(filter-out %/command.c \
    %/floor.c,$(wildcard t/bench/*.c))) $(call lib,dial client common)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) $(NET_LIBS) $(CRYPTO_LIBS) \
	    $(LIBS)

$(BUILD)/bench/command: $(call objs,t/bench/command.c)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^ $(LIBS)

# A folder as one with a build of ours, for run.sh.
$(BUILD)/bench/floor/execsrvd: $(call objs,t/bench/floor.c) $(call lib,common)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)echo execsrvd >$(@D)/programs
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) $(LIBS)

# Wanted by run.sh, which is also started without us.
bench-tools: $(BUILD)/bench/bench $(BUILD)/bench/command \
    $(BUILD)/bench/floor/execsrvd

bench: all bench-tools
	+$(Q)sh t/bench/run.sh $(BUILD)

lint: all
	$(Q)sh contrib/build/run-lint $(BUILD)

# With each release, see there.
released:
	$(Q)sh contrib/build/released >proto/released

# --- installing --------------------------------------------------------------

INSTALL		= install
DEST		= $(DESTDIR)
bash_dir	= $(DEST)$(datarootdir)/bash-completion/completions
zsh_dir		= $(DEST)$(datarootdir)/zsh/site-functions
man_dir		= $(DEST)$(mandir)/man$(subst .,,$(suffix $(1)))
CONF		:= $(filter %/execsrvd.conf,$(SAMPLE))
HUB_CONF	:= $(filter %/execsrv-hub.conf,$(SAMPLE))
conf_dir	= $(DEST)$(sysconfdir)/execsrv

# The administrator's settings are never overwritten.
install: all
	$(call say,INSTALL,$(DEST)$(prefix))
	$(Q)$(INSTALL) -d $(DEST)$(sbindir) $(DEST)$(bindir) \
	    $(DEST)$(libexecdir)/execsrv $(DEST)$(includedir) \
	    $(DEST)$(libdir)/pkgconfig
	$(Q)$(foreach p,$(PROGRAMS),$(INSTALL) -m 755 $(STRIP) $(BUILD)/$(p) \
	    $(DEST)$($(p)_DIR)/$(p) &&) :
	$(Q)$(INSTALL) -m 644 $(LIB_H) $(DEST)$(includedir)/execsrv.h
	$(Q)$(INSTALL) -m 644 $(BUILD)/libexecsrv.a $(DEST)$(libdir)/libexecsrv.a
	$(Q)$(INSTALL) -m 644 $(STRIP) $(BUILD)/$(LIB_FILE) \
	    $(DEST)$(libdir)/$(LIB_FILE)
	$(Q)ln -sf $(LIB_FILE) $(DEST)$(libdir)/$(LIB_SO)
	$(Q)ln -sf $(LIB_SO) $(DEST)$(libdir)/libexecsrv.so
	$(Q)$(INSTALL) -m 644 $(BUILD)/libexecsrv.pc \
	    $(DEST)$(libdir)/pkgconfig/libexecsrv.pc
	$(Q)$(foreach m,$(MAN),$(INSTALL) -d $(call man_dir,$(m)) && \
	    $(INSTALL) -m 644 $(BUILD)/$(m) $(call man_dir,$(m)) &&) :
	$(Q)cp -P $(BUILD)/man/man3/*.3 $(call man_dir,.3)/
	$(Q)chmod 644 $(call man_dir,.3)/execsrv_*.3
	$(Q)$(INSTALL) -d $(bash_dir) $(zsh_dir)
	$(Q)$(INSTALL) -m 644 $(BUILD)/contrib/completion/bash \
	    $(bash_dir)/execsrvctl
	$(Q)ln -sf execsrvctl $(bash_dir)/execsrvd
	$(Q)$(INSTALL) -m 644 $(BUILD)/contrib/completion/zsh \
	    $(zsh_dir)/_execsrvctl
	$(Q)$(foreach s,$(SERVICE),$(INSTALL) -D -m $(call service_mode,$(s)) \
	    $(call service_file,$(s)) $(call service_place,$(s)) &&) :
ifneq ($(logrotatedir),)
	$(Q)test -e $(DEST)$(logrotatedir)/execsrvd || \
	    $(INSTALL) -D -m 644 $(ROTATE) $(DEST)$(logrotatedir)/execsrvd
endif
ifneq ($(CONF),)
	$(Q)$(INSTALL) -d $(conf_dir)
	$(Q)test -e $(conf_dir)/execsrvd.conf || \
	    $(INSTALL) -m 644 $(CONF) $(conf_dir)/execsrvd.conf
endif
ifneq ($(HUB_CONF),)
	$(Q)$(INSTALL) -d $(conf_dir)
	$(Q)$(INSTALL) -m 644 $(HUB_CONF) $(conf_dir)/execsrv-hub.conf.sample
endif
ifeq ($(DESTDIR),)
	$(Q)sh contrib/build/installed '$(conf_dir)/execsrvd.conf' \
	    '$(UNIT_DIR)' '$(initdir)' '$(logrotatedir)'
endif

install-strip:
	+$(Q)$(MAKE) STRIP=-s install

# Settings that somebody changed stay.
uninstall:
	$(call say,REMOVE,$(DEST)$(prefix))
	$(Q)rm -f $(foreach p,$(PROGRAMS),$(DEST)$($(p)_DIR)/$(p)) \
	    $(DEST)$(includedir)/execsrv.h $(addprefix $(DEST)$(libdir)/,\
	    libexecsrv.a libexecsrv.so $(LIB_SO) $(LIB_FILE) \
	    pkgconfig/libexecsrv.pc)
	$(Q)$(foreach m,$(MAN),rm -f $(call man_dir,$(m))/$(notdir $(m)) &&) :
	$(Q)rm -f $(patsubst $(BUILD)/man/man3/%,$(call man_dir,.3)/%,\
	    $(wildcard $(BUILD)/man/man3/*.3))
	$(Q)rm -f $(bash_dir)/execsrvctl $(bash_dir)/execsrvd \
	    $(zsh_dir)/_execsrvctl
	$(Q)$(foreach s,$(SERVICE),rm -f $(call service_place,$(s)) &&) :
ifneq ($(logrotatedir),)
	$(Q)! cmp -s $(ROTATE) $(DEST)$(logrotatedir)/execsrvd || \
	    rm -f $(DEST)$(logrotatedir)/execsrvd
endif
ifneq ($(CONF),)
	$(Q)! cmp -s $(CONF) $(conf_dir)/execsrvd.conf || \
	    rm -f $(conf_dir)/execsrvd.conf
endif
	$(Q)rm -f $(conf_dir)/execsrv-hub.conf.sample
	-$(Q)rmdir $(DEST)$(libexecdir)/execsrv $(conf_dir) 2>/dev/null

# --- releasing ---------------------------------------------------------------

dist:
	$(Q)sh contrib/build/make-dist $(BUILD) $(VERSION)

# Wants debhelper; "lintian BUILD/deb/*.changes" has no errors.
deb: dist
	+$(Q)sh contrib/build/make-deb $(BUILD) $(VERSION)

distcheck: dist
	+$(Q)sh contrib/build/distcheck $(BUILD) $(VERSION) '$(DISTCHECK_T)'

# clean leaves the configuration alone, distclean leaves nothing.
MADE		= $(addprefix $(BUILD)/,bench common contrib cppcheck deb man \
		  master pic proto t worker san cover fuzz distcheck pycache vm \
		  programs $(PROGRAMS) lib*.a lib*.list libexecsrv.* *.tar.gz)
clean:
	rm -rf $(MADE)

distclean: clean
	cd $(BUILD) 2>/dev/null && rm -rf autom4te.cache configure \
	    configure.args config.h config.log config.mk \
	    config.status npm stamp-h1 stock || :
	-test ! -d $(BUILD) || rmdir $(BUILD)

# -----------------------------------------------------------------------------

.PHONY: all lib released check check-long check-vm unit san cover fuzz fuzz-run bench \
    bench-tools lint install install-strip uninstall dist deb distcheck \
    clean distclean FORCE
.SECONDARY:
FORCE:

-include $(shell test ! -d $(BUILD) || find $(BUILD) \
    \( -path $(BUILD)/san -o -path $(BUILD)/cover -o -path $(BUILD)/fuzz \
    -o -path $(BUILD)/distcheck -o -path $(BUILD)/deb -o -path $(BUILD)/stock -o -path $(BUILD)/npm -o -path $(BUILD)/vm \) \
    -prune \
    -o -name '*.d' -type f -print)
