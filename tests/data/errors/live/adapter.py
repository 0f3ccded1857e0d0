"""What the live module asks for: the class of an exception, by its name."""

from ukemi.supervisor.classify import classify


def class_name(error: BaseException, *, stage: str = "call") -> str:
    return str(classify(error, stage=stage).error_class)
