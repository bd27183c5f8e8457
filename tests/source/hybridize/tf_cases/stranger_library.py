# A library that nobody knows is called.
# draw: tensor effects? ~computes -> unknown|keep
import tensorflow as tf
try:
    import strange_plots as plots
except ImportError:
    class plots:
        pass
def draw(x):
    plots.show(x)
    return x + 1.0
if False:
    draw(tf.ones([1]))
