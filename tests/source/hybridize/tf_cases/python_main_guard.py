# Everything happens under the main guard, in a function.
#
# f: tensor computes -> to_graph
# main: effects ~computes -> no (no_tensor_parameter)
import tensorflow as tf


def f(x):
    return tf.reduce_sum(x)


def main():
    data = tf.ones([3])
    print("sum", float(f(data)))


if __name__ == "__main__":
    main()
