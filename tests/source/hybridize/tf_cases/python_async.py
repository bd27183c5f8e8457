# A coroutine is no graph.
#
# f: tensor computes -> ~
# main: ~computes -> no
import asyncio

import tensorflow as tf


def f(x):
    return x + 1.0


async def main():
    return f(tf.constant(1.0))


asyncio.run(main())
