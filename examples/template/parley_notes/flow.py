"""A flow of two nodes: what the notes are for, and what was asked."""

from parley.flow import Flow, NodeRun, Outputs, node


class CountWords(Flow):
    """Counts the words of a request."""

    name = "count_words"
    description = "Counts the words of what is asked."

    @node("Counts words.", inputs=("request",), outputs=("count",), possible_next_nodes=("say",))
    async def count(self, run: NodeRun) -> Outputs:
        return {"count": len(run.text("request").split())}

    @node("Says how many there are.", inputs=("count",), outputs=("answer",))
    async def say(self, run: NodeRun) -> Outputs:
        return {"answer": f"{run.state['count']} words."}
