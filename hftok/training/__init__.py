"""Training of tokenizers: texts to word counts, word counts to a model, and the model into its tokenizer.

    pipeline   which words a tokenizer's normalizer and pre-tokenizer make
    texts      files and iterators, counted in blocks
    driver     the four trainers, and what they leave behind in model, tokenizer and trainer
    progress   bars, lines of JSON, or silence

The counting and the learning are done in `hftok._core.training`.
"""
