"""The public surface: every module, class, method, argument and attribute of the reference's components is here too.

What there is, is read from the reference at run time. What a method accepts, is read from its type stubs, which are
made from its code; its `__text_signature__`s are written by hand there, and some name arguments that are not accepted.
"""

import ast
import importlib
import inspect
import pathlib
import warnings
from types import ModuleType
from typing import Any

import pytest
import tokenizers
import tokenizers.tools

import hftok.added_tokens
import hftok.decoders
import hftok.models
import hftok.normalizers
import hftok.patterns
import hftok.pre_tokenizers
import hftok.processors
import hftok.tools
import hftok.trainers

MODULES = ("normalizers", "pre_tokenizers", "processors", "decoders", "models", "trainers")
STUBS = pathlib.Path(tokenizers.__file__).parent
TOP = {
    "AddedToken": hftok.added_tokens.AddedToken,
    "Regex": hftok.patterns.Regex,
    "Token": hftok.models.Token,
}
# Slots that every Python class has, or that come with another of the class.
GIVEN = {"__new__", "__doc__", "__module__", "__dict__", "__weakref__"}


def our_module(name: str) -> ModuleType:
    return getattr(hftok, name)


def stub_classes(file: str) -> dict[str, ast.ClassDef]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # escapes in docstrings
        tree = ast.parse((STUBS / file).read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


CLASSES = [
    (f"{module}.{name}", getattr(getattr(tokenizers, module), name), getattr(our_module(module), name, None), node)
    for module in MODULES
    for name, node in stub_classes(f"{module}.pyi").items()
]
CLASSES += [
    (name, getattr(tokenizers, name), TOP[name], node)
    for name, node in stub_classes("__init__.pyi").items()
    if name in TOP
]
by_class = pytest.mark.parametrize(("theirs", "ours", "node"), [c[1:] for c in CLASSES], ids=[c[0] for c in CLASSES])


@pytest.mark.parametrize("module", MODULES)
def test_module_names(module):
    theirs = getattr(tokenizers, module)
    public = {name for name in dir(theirs) if not name.startswith("_")}
    public.discard(module)  # the compiled module behind the Python one
    ours = our_module(module)
    assert public <= {name for name in dir(ours) if not name.startswith("_")}
    assert public <= set(ours.__all__)
    for name in public:
        assert type(getattr(ours, name)) is type(getattr(theirs, name))


def test_the_stubs_hold_every_class():
    for module in MODULES:
        theirs = getattr(tokenizers, module)
        classes = {name for name in dir(theirs) if isinstance(getattr(theirs, name), type)}
        assert classes == set(stub_classes(f"{module}.pyi"))


@by_class
def test_class(theirs, ours, node):
    assert ours is not None
    assert ours.__name__ == theirs.__name__
    assert [base.__name__ for base in theirs.__mro__ if base is not object] == [
        base.__name__ for base in ours.__mro__ if base.__module__.startswith("hftok") and is_public(base)
    ]
    assert ours.__doc__
    for name in vars(theirs):
        if name not in GIVEN:
            assert hasattr(ours, name), name


def is_public(kind: type) -> bool:
    return not kind.__name__.startswith("_") and kind.__name__ != "Component"


@by_class
def test_members(theirs, ours, node):
    """Static and class methods are such, attributes that can be assigned can, and others cannot."""
    for name, member in vars(theirs).items():
        if name in GIVEN:
            continue
        mine = inspect.getattr_static(ours, name)
        kind = type(member).__name__
        if kind == "staticmethod":
            assert isinstance(mine, staticmethod), name
        elif kind == "classmethod_descriptor":
            assert isinstance(mine, classmethod), name
        elif kind == "getset_descriptor":
            assert inspect.isdatadescriptor(mine), name
            assert settable(node, name) == (mine.fset is not None if isinstance(mine, property) else True), name
        elif kind == "method_descriptor":
            assert callable(mine), name


def settable(node: ast.ClassDef, name: str) -> bool:
    return any(
        isinstance(item, ast.FunctionDef)
        and item.name == name
        and any(isinstance(d, ast.Attribute) and d.attr == "setter" for d in item.decorator_list)
        for item in node.body
    )


def stub_parameters(function: ast.FunctionDef) -> list[tuple[str, str, Any]]:
    """(name, kind, default) of the parameters after the first; a default of ... is not told."""
    arguments = function.args
    assert not arguments.kwonlyargs
    assert arguments.vararg is None
    defaults: list[Any] = [None] * (len(arguments.args) - len(arguments.defaults)) + [
        (ast.literal_eval(default),) for default in arguments.defaults
    ]
    result = [(argument.arg, "argument", default) for argument, default in zip(arguments.args, defaults, strict=True)]
    if arguments.kwarg is not None:
        result.append(("", "keywords", None))
    return result


def our_parameters(function: Any) -> list[tuple[str, str, Any]]:
    result = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            result.append(("", "keywords", None))
        else:
            assert parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            empty = parameter.default is inspect.Parameter.empty
            result.append((parameter.name, "argument", None if empty else (parameter.default,)))
    return result


def without_self(kind: type, name: str, parameters: list[tuple[str, str, Any]]) -> list[tuple[str, str, Any]]:
    plain = not isinstance(inspect.getattr_static(kind, name), (staticmethod, classmethod))
    return parameters[1:] if plain else parameters


def has_signature(kind: type) -> bool:
    """A compiled class tells its arguments in its docstring only."""
    return "__init__" in dir(kind) and inspect.isfunction(kind.__init__)


@by_class
def test_arguments(theirs, ours, node):
    for item in node.body:
        if not isinstance(item, ast.FunctionDef) or any(
            isinstance(d, ast.Attribute) or (isinstance(d, ast.Name) and d.id == "property")
            for d in item.decorator_list
        ):
            continue
        if item.name.startswith("__") and item.name != "__new__":
            continue
        expected = stub_parameters(item)
        if item.name == "__new__" and not has_signature(ours):
            ours(**{name: default[0] for name, _, default in expected})
            continue
        if item.name == "__new__":
            got = our_parameters(ours)
        else:
            got = without_self(ours, item.name, our_parameters(getattr(ours, item.name)))
        assert [entry[:2] for entry in got] == [entry[:2] for entry in expected], item.name
        for (name, _, default), (_, _, wanted) in zip(got, expected, strict=True):
            assert (default is None) == (wanted is None), (item.name, name)
            if wanted is not None and wanted[0] is not ...:
                assert default == wanted, (item.name, name)


WRITTEN_WRONG = {
    "tokenizers.Regex('a')": ("pattern", "s"),
    "tokenizers.normalizers.Sequence([])": ("normalizers", "normalizers"),
    "tokenizers.pre_tokenizers.Sequence([])": ("pretokenizers", "pre_tokenizers"),
    "tokenizers.processors.Sequence([])": ("processors", "processors_py"),
    "tokenizers.decoders.Sequence([])": ("decoders", "decoders_py"),
}


@pytest.mark.parametrize("call", WRITTEN_WRONG)
def test_names_that_are_written_and_names_that_are_accepted(call):
    """The reason for taking the stubs: the reference refuses the names of its own text signatures here."""
    written, accepted = WRITTEN_WRONG[call]
    kind = eval(call.partition("(")[0], {"tokenizers": tokenizers})
    value = ast.literal_eval(call.partition("(")[2][:-1])
    assert written in inspect.signature(kind).parameters
    assert kind(**{accepted: value}) is not None
    if written != accepted:
        with pytest.raises(TypeError):
            kind(**{written: value})


@by_class
def test_arguments_of_text_signatures_are_accepted(theirs, ours, node):
    """Options that the reference takes as keywords only show in its text signature: ours accepts each of them."""
    if not has_signature(ours) or not theirs.__text_signature__:
        return
    if "keywords" not in [kind for _, kind, _ in our_parameters(ours)]:
        return
    options = getattr(ours, "Options", None)
    named = {name for name, _, _ in our_parameters(ours)}
    known = set(options.__annotations__) if options else {"single_word", "lstrip", "rstrip", "normalized", "special"}
    for name in inspect.signature(theirs).parameters:
        if name not in ("self", "words"):  # `words` is told and not taken
            assert name in named or name in known, name


@by_class
def test_kinds_are_final(theirs, ours, node):
    def extend(kind: type) -> type:
        return type("Extended", (kind,), {})

    try:
        extend(theirs)
    except TypeError:
        if theirs.__name__ not in ("AddedToken", "Regex", "Token", "DecodeStream", "ParityBpeTrainer"):
            with pytest.raises(TypeError, match="is not an acceptable base type"):
                extend(ours)
    else:
        extend(ours)


ENUMS = ("OffsetReferential", "OffsetType", "SplitDelimiterBehavior")


def test_top_level_names():
    imported_there = {"Enum", "List", "Tuple", "Union", "tokenizers", "tools"}  # tools: by this test
    public = {name for name in dir(tokenizers) if not name.startswith("_")} - imported_there
    assert public <= {name for name in dir(hftok) if not name.startswith("_")}
    assert public <= set(hftok.__all__)
    for name in ENUMS:
        assert [(item.name, item.value) for item in getattr(hftok, name)] == [
            (item.name, item.value) for item in getattr(tokenizers, name)
        ]


@pytest.mark.parametrize("name", [name for name in stub_classes("__init__.pyi") if name not in TOP])
def test_other_classes(name):
    """Classes of others: what they have and what their methods are called."""
    theirs, ours = getattr(tokenizers, name), getattr(hftok, name)
    for member in vars(theirs):
        if member not in GIVEN:
            assert hasattr(ours, member), member
    if name in ENUMS:
        return
    for item in stub_classes("__init__.pyi")[name].body:
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
            member = inspect.getattr_static(ours, item.name)
            if inspect.isdatadescriptor(member):
                assert not settable(stub_classes("__init__.pyi")[name], item.name) or hasattr(type(member), "__set__")
            else:
                assert callable(getattr(ours, item.name)), item.name


def test_methods_are_told():
    for _, _, ours, _ in CLASSES:
        for name, member in vars(ours).items():
            if not name.startswith("_") and callable(member) and not isinstance(member, type):
                assert member.__doc__, (ours, name)


# ---- what is not in the stubs' component modules: signatures as both sides tell them


def parameters_of(function: Any) -> list[tuple[str, str, Any]]:
    """(name, kind, default) of each; lists that nobody may change are tuples here."""
    found = []
    for parameter in inspect.signature(function).parameters.values():
        default = tuple(parameter.default) if isinstance(parameter.default, list) else parameter.default
        found.append((parameter.name, parameter.kind.name, default))
    return found


def assert_signatures(theirs: type, ours: type) -> int:
    """Of every public method and, where it is written in Python, of the constructor. Ours may have more, by keyword."""
    compared = 0
    for name in dir(theirs):
        if (name.startswith("_") and not (name == "__init__" and inspect.isfunction(theirs.__init__))) or not callable(
            member := getattr(theirs, name)
        ):
            continue
        try:
            expected = parameters_of(member)
        except ValueError:  # a compiled method without a text
            continue
        found = parameters_of(getattr(ours, name))
        if found[-1:] and found[-1][1] == "VAR_KEYWORD" and expected[-1][1] != "VAR_KEYWORD":
            found.pop()  # options that the reference takes by keyword only, whatever its text says
            expected = expected[: len(found)]
        assert [f for f in found if f[1] != "KEYWORD_ONLY" or f in expected] == expected, (theirs, name)
        compared += 1
    return compared


@pytest.mark.parametrize("name", ["Tokenizer", "Encoding", "NormalizedString", "PreTokenizedString"])
def test_signatures(name):
    assert assert_signatures(getattr(tokenizers, name), getattr(hftok, name)) >= 5


@pytest.mark.parametrize("module", ["implementations", "tools"])
def test_signatures_of_python_classes(module):
    theirs, ours = (importlib.import_module(f"{library}.{module}") for library in ("tokenizers", "hftok"))
    classes = [name for name in dir(theirs) if isinstance(getattr(theirs, name), type)]
    assert len(classes) > 1
    for name in classes:
        assert name in ours.__all__
        assert_signatures(getattr(theirs, name), getattr(ours, name))


def test_a_model_by_keyword():
    for library in (hftok, tokenizers):
        tokenizer = library.Tokenizer(model=library.models.WordLevel({"a": 0}, "a"))
        assert tokenizer.encode("a").ids == [0]
        with pytest.raises(TypeError):
            library.Tokenizer()


def test_options_that_have_no_signature(capfd):
    """Those that are taken by keyword: each of the reference's is known, and of others the same is said."""
    tokenizer = hftok.Tokenizer(hftok.models.BPE())
    for method, needed in (("enable_padding", {}), ("enable_truncation", {"max_length": 9})):
        defaults = inspect.signature(getattr(tokenizers.Tokenizer, method)).parameters
        options = {name: p.default for name, p in defaults.items() if name != "self" and p.default is not p.empty}
        getattr(tokenizer, method)(**needed, **options)
        assert capfd.readouterr() == ("", "")
        getattr(tokenizer, method)(**needed, no_such_option=1)
        said = capfd.readouterr()
        getattr(tokenizers.Tokenizer(tokenizers.models.BPE()), method)(**needed, no_such_option=1)
        assert said == capfd.readouterr()
        assert "no_such_option" in "".join(said)
