"""830, a thousand times each kind: nothing is lost and nothing comes twice.

CUTS=N is how often instead; SEED=N repeats a run; KIND... are the only ones."""
import importlib
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sys"))
lib = importlib.import_module("8common")
cuts = importlib.import_module("8cuts")

SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
CUTS = int(os.environ.get("CUTS", 1000))
# Side by side, since an executor waits for up to half a minute before it
# connects again; and how many bytes a second each rendezvous passes on.
MANY = {"stream": (2, 20 << 20), "executor": (20, 1 << 20),
        "harness": (2, 20 << 20), "uplink": (20, 1 << 20),
        "reach": (2, 20 << 20)}


def cases(kind):
    many, speed = MANY[kind]
    many = min(many, CUTS)

    def case(n):
        async def run(rig):
            await cuts.campaign(rig, kind, CUTS * (n + 1) // many -
                                CUTS * n // many, random.Random(SEED + n),
                                speed)
        run.__name__ = "%s_%d" % (kind, n)
        return lib.ours(run)
    return [case(n) for n in range(many)]


kinds = [a for a in sys.argv[1:] if a in MANY]
sys.argv[1:] = [a for a in sys.argv[1:] if a not in MANY]
lib.say("SEED=%d" % SEED)
for chosen in kinds or MANY:
    try:
        lib.main(*cases(chosen), at_once=MANY[chosen][0])
    except SystemExit as e:
        if e.code != 0:
            raise
