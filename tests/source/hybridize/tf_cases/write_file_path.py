# pathlib and csv.
# rows: tensor effects ~computes -> no (side_effects)
# note: primitive effects -> no
import csv
import pathlib
import tensorflow as tf
def rows(x):
    with open("rows.csv", "w", newline="") as f:
        csv.writer(f).writerow([d for d in x.shape])
    return x + 0.0
def note(text):
    pathlib.Path("note.txt").write_text(text)
rows(tf.ones([2, 3]))
note("done")
