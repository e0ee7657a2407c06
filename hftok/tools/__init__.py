"""Tools around tokenizers: a picture of an encoding, in HTML."""

from hftok.tools.visualizer import Annotation, EncodingVisualizer

__all__ = ["Annotation", "EncodingVisualizer"]
