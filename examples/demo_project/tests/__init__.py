"""Tests of the cash register; run them with ``python -m unittest`` beside this folder."""
