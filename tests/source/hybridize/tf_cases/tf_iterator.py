# The place of a dataset's iterator is TensorFlow's state, that of a Python iterator is Python's.
# from_dataset: tensor computes -> to_graph
# from_list: tensor effects computes -> no (side_effects)
# consume: hybrid computes -> to_eager
import tensorflow as tf
elements = iter(tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0]).repeat())
numbers = iter([1.0, 2.0, 3.0])
def from_dataset(x):
    return x + next(elements)
def from_list(x):
    return x + next(numbers)
@tf.function
def consume(iterator):
    return next(iterator) * 2.0
from_dataset(tf.ones([1]))
from_list(tf.ones([1]))
consume(elements)
