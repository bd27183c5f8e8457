# `tf` is not a name of this program.
# step: hybrid tensor computes -> add_signature
from tensorflow import function, ones


@function
def step(x):
    return x * 2.0 + x


step(ones([2, 3]))
