"""830: output at full speed to execsrvctl, over a rendezvous that holds up to
64 MiB and forgets it whenever something is cut: nothing is lost and nothing
comes twice."""
import importlib
import os
import random

lib = importlib.import_module("8common")
cuts = importlib.import_module("8cuts")

SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
TIMES = {"stream": 8, "executor": 3, "harness": 8, "uplink": 3, "reach": 8}


def case(kind):
    async def run(rig):
        lib.say("SEED=%d" % SEED)
        await cuts.campaign(rig, kind, int(os.environ.get(
            "CUTS", TIMES[kind])), random.Random(SEED))
    run.__name__ = kind
    return lib.ours(run)


lib.main(*map(case, TIMES), at_once=2)
