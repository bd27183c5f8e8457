"""A target: a machine with Zen 3 cores whose second-level caches are larger."""

from strop import extend

MB = 2**20

extend.target(
    {
        "name": "example-cpu",  # what Options(target=…) says
        "like": "znver3",  # what is not said here is as in this description
        "l2": 1 * MB,
        "l3": 16 * MB,
        "ghz": 3.0,
        "bandwidth": (64.0, 32.0, 12.0, 6.0),  # bytes per cycle that one core reads from L1, L2, L3 and memory
    }
)
