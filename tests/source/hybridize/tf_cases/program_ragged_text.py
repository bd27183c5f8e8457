# Ragged text processing with TensorFlow's own strings.
#
# clean: tensor computes -> to_graph
# tokenise: tensor computes -> to_graph
# count_words: tensor computes -> to_graph
# vocabulary: tensor ~computes -> no (eager_only)
import tensorflow as tf


def clean(texts):
    return tf.strings.regex_replace(tf.strings.lower(texts), "[^a-z ]", "")


def tokenise(texts):
    return tf.strings.split(clean(texts))


def count_words(tokens):
    return tokens.row_lengths() + 0


def vocabulary(tokens):
    return sorted(set(tokens.flat_values.numpy().tolist()))


tokens = tokenise(tf.constant(["Hello, World!", "a b c"]))
count_words(tokens)
vocabulary(tokens)
