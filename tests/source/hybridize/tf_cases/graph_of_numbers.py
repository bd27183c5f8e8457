# A graph function of numbers alone.
# area: hybrid primitive -> to_eager (no_tensor_parameter)
import tensorflow as tf


@tf.function
def area(width, height):
    return width * height


area(3, 4)
