"""How much of the page React renders again while something is written."""

from tests.e2e.browser import Person
from tests.e2e.parley_process import RunningParley

MOST = 20  # components for one piece of a draft; all that the page shows then are some 200
# React tells a hook for developer tools of each commit. It notes how many components were rendered again in it, if the
# draft had grown. A component that was not reached has the same children as before.
COUNT_RENDERS = """() => {
  window.renders = [];
  let length = 0;
  const countIn = (first) => {
    let count = 0;
    for (let fiber = first; fiber; fiber = fiber.sibling) {
      if (!fiber.alternate) continue;
      if (typeof fiber.type === 'function' && fiber.flags & 1) count += 1;
      if (fiber.child !== fiber.alternate.child) count += countIn(fiber.child);
    }
    return count;
  };
  const onCommitFiberRoot = (_, root) => {
    const draft = document.querySelector('[data-testid=draft]')?.textContent.length ?? 0;
    if (length > 0 && draft > length) window.renders.push(countIn(root.current.child));
    length = draft;
  };
  window.__REACT_DEVTOOLS_GLOBAL_HOOK__ = { supportsFiber: true, inject: () => 1, onCommitFiberRoot };
}"""


async def test_a_piece_of_a_draft_renders_only_the_draft(person: Person, running: RunningParley) -> None:
    await person.context.add_init_script(f"({COUNT_RENDERS})()")
    tab = await person.tab()
    await tab.to_plan()
    await running.add_fault(task="text_plan", token_delay=0.05, times=1)
    await tab.send_feedback("Add a step to write a short help text")
    await tab.wait_for("plan-review", "Plan 2")
    renders = await tab.page.evaluate("window.renders")
    assert len(renders) > 5
    assert max(renders) <= MOST, renders
