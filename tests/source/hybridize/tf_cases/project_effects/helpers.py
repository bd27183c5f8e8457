# record: primitive effects -> no
from storage import events


def record(name):
    events.append(name)
