import { Button } from "@mantine/core";
import { Component, type ReactNode, Suspense } from "react";
import { TROUBLE } from "../words";
import typography from "./typography.module.css";

/**
 * Shows `fallback` while its children load. If they cannot be loaded or shown, it shows `failed`, or a message with a
 * button that reloads the page; the rest of the page stays usable.
 */
export class LazyBoundary extends Component<{ fallback?: ReactNode; failed?: ReactNode; children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render() {
    if (!this.state.hasFailed) return <Suspense fallback={this.props.fallback}>{this.props.children}</Suspense>;
    if (this.props.failed) return this.props.failed;
    return (
      <p className={typography.problem} role="alert" data-testid="part-failed">
        {TROUBLE.part_failed}{" "}
        <Button variant="default" size="compact-sm" onClick={() => location.reload()}>
          {TROUBLE.reload}
        </Button>
      </p>
    );
  }
}
