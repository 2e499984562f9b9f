"""The launcher's options, passed as `name=value` arguments."""


class LaunchOptions:
    """The options of one run.

    scratch: absolute path of the only folder the program may write to; it is also its working folder.
    memory, file: bytes; `file` is the limit of one file. cpu: seconds. threads: how many beside the first one.
    parent: process id of the supervisor; the program dies with it.
    status: the descriptor on which the launcher reports, closed before the program begins.
    uid: the user and group to become when started as root, else 0.
    program: the script and its arguments, or `-m`, a module and its arguments.
    """

    def __init__(  # noqa: PLR0913 - fields by name; a dataclass would cost 10 ms at every start
        self,
        *,
        scratch: str,
        memory: int,
        file: int,
        cpu: int,
        threads: int,
        parent: int,
        status: int,
        uid: int,
        program: list[str],
    ) -> None:
        self.scratch = scratch
        self.memory = memory
        self.file = file
        self.cpu = cpu
        self.threads = threads
        self.parent = parent
        self.status = status
        self.uid = uid
        self.program = program

    def to_arguments(self) -> list[str]:
        fields = [f"{name}={value}" for name, value in vars(self).items() if name != "program"]
        return [*fields, "--", *self.program]

    @classmethod
    def from_arguments(cls, arguments: list[str]) -> "LaunchOptions":
        end = arguments.index("--")
        fields = dict(argument.split("=", 1) for argument in arguments[:end])
        scratch = fields.pop("scratch")
        numbers = {name: int(value) for name, value in fields.items()}
        return cls(scratch=scratch, program=arguments[end + 1 :], **numbers)
