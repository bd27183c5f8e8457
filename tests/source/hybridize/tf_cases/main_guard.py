# Called from main.
#
# normalize: tensor computes -> to_graph
# main: effects computes -> no
import tensorflow as tf
def normalize(x):
    return (x - tf.reduce_mean(x)) / tf.math.reduce_std(x)
def main():
    for _ in range(3):
        print(normalize(tf.random.normal([4])))
if __name__ == "__main__":
    main()
