import { Button } from "@mantine/core";
import { Component, type ReactNode, Suspense } from "react";
import { TROUBLE } from "../generated/words";

/** A part of the page that is loaded when it is first shown, with `fallback` until then. If that fails, it shows `failed`, and the rest of the page stays usable. */
export class Part extends Component<{ fallback?: ReactNode; failed?: ReactNode; children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render() {
    if (!this.state.hasFailed) return <Suspense fallback={this.props.fallback}>{this.props.children}</Suspense>;
    if (this.props.failed) return this.props.failed;
    return (
      <p className="problem" role="alert" data-testid="part-failed">
        {TROUBLE.part_failed}{" "}
        <Button variant="default" size="compact-sm" onClick={() => location.reload()}>
          {TROUBLE.reload}
        </Button>
      </p>
    );
  }
}
