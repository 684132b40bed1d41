import { Loader } from "@cloudflare/kumo/components/loader";
import type { ReactNode } from "react";
import type { Loaded } from "../api/use-load.ts";
import { Failure } from "./failure.tsx";

interface Props<T> {
	of: Loaded<T>;
	children: (value: T) => ReactNode;
}

/** Shows a value when it is there. An older value stays, dimmed, until the new one is, and below the reason of a failure. */
export function Loading<T>({ of: { state, value, error, reload }, children }: Props<T>) {
	const isLoading = state === "loading";
	if (value === undefined && !error)
		return (
			<div className="loader" role="status" aria-label="Loading">
				<Loader />
			</div>
		);
	return (
		<>
			{error && <Failure error={error} onRetry={reload} retrying={isLoading} />}
			{value !== undefined && (
				<div className="stack loaded" aria-busy={isLoading}>
					{children(value)}
				</div>
			)}
		</>
	);
}
