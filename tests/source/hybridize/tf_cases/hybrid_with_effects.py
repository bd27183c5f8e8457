# A graph function with side effects keeps its form.
# step: tensor hybrid effects computes -> keep (side_effects)
# run: effects ~computes -> no
import tensorflow as tf
log = []
@tf.function
def step(x):
    log.append(1)
    return x + 1.0
def run():
    print(step(tf.ones([1])).shape)
run()
