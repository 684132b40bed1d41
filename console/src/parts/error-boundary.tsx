import { Button } from "@cloudflare/kumo/components/button";
import { Component, type ReactNode } from "react";
import { errorOf } from "../api/error-of.ts";
import { FailureBanner } from "./failure.tsx";

interface Props {
	/** An error ends when this value changes. */
	place?: string;
	/** The whole page: the error is its main content. */
	top?: boolean;
	children: ReactNode;
}

interface State {
	error?: Error | undefined;
}

/** Shows an error of its content in the content's place, so that what is around it stays. */
export class ErrorBoundary extends Component<Props, State> {
	override state: State = {};

	static getDerivedStateFromError(error: unknown): State {
		return { error: errorOf(error) };
	}

	override componentDidUpdate({ place }: Props): void {
		if (place !== this.props.place && this.state.error) this.setState({ error: undefined });
	}

	override render(): ReactNode {
		const { error } = this.state;
		if (!error) return this.props.children;
		const failure = (
			<div role="alert" className="failure">
				<FailureBanner text={error.message} />
				<Button size="sm" onClick={() => location.reload()}>
					Reload
				</Button>
			</div>
		);
		return this.props.top ? <main className="sign-in">{failure}</main> : failure;
	}
}
