from broker.planning.nearest import unknown


def test_the_nearest_names_come_first_then_those_that_begin_with_the_word() -> None:
    error = unknown("thing", "helo", ["hello", "help", "other", "HELOISE"])
    assert str(error) == "unknown thing 'helo'"
    assert error.hint == "did you mean one of: hello, help, HELOISE?"


def test_eight_names_are_told_at_most() -> None:
    many = [f"name-{number:03}" for number in range(200)]
    assert len(unknown("thing", "name-00", many).hint.split(", ")) == 8
    told = unknown("thing", "zzz", many, common=["name-150"], where="some command").hint
    assert told.startswith("there are 200, such as name-150, name-000, ")
    assert told.endswith("name-006; all of them: some command")


def test_few_names_are_told_whole() -> None:
    assert unknown("thing", "zzz", ["b", "a"]).hint == "there are: a, b"


def test_where_nothing_is_named_there_is_a_way_out() -> None:
    assert unknown("thing", "zzz", []).hint == "leave it out: there is none here"
