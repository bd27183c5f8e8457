# A training script with argparse, a config and checkpoints.
#
# parse_args: ~effects ~tensor -> no
# build: ~primitive ~tensor ~computes -> no?
# evaluate: ~tensor computes -> ~
# forward: tensor computes -> to_graph
# main: ~tensor effects computes -> no
import argparse
import json

import tensorflow as tf


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--width", type=int, default=4)
    return parser.parse_args([])


def build(args):
    return tf.keras.Sequential([tf.keras.layers.Dense(args.width), tf.keras.layers.Dense(1)])


def forward(model, x):
    return tf.squeeze(model(x), axis=-1)


def evaluate(model, dataset):
    total, count = 0.0, 0
    for x, y in dataset:
        total += float(tf.reduce_mean(tf.abs(forward(model, x) - y)))
        count += 1
    return total / max(count, 1)


def main():
    args = parse_args()
    model = build(args)
    data = tf.data.Dataset.from_tensor_slices((tf.ones([4, 2]), tf.ones([4]))).batch(2)
    result = {"mae": evaluate(model, data), "epochs": args.epochs}
    with open("result.json", "w") as f:
        json.dump(result, f)


main()
