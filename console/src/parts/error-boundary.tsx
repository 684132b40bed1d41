import { Component, type ReactNode } from "react";
import { Failure } from "./failure.tsx";

interface State {
	error?: Error;
}

/** Shows an error of a page in the page's place, so that the navigation stays. */
export class ErrorBoundary extends Component<{ children: ReactNode }, State> {
	override state: State = {};

	static getDerivedStateFromError(error: unknown): State {
		return { error: error instanceof Error ? error : new Error(String(error)) };
	}

	override render(): ReactNode {
		const { error } = this.state;
		if (!error) return this.props.children;
		return <Failure error={error} onRetry={() => location.reload()} />;
	}
}
