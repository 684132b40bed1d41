import { Loader } from "@cloudflare/kumo/components/loader";
import type { ReactNode } from "react";
import type { Loaded } from "../api/use-load.ts";
import { Failure } from "./failure.tsx";

/** Shows a value when it is there. An older value stays, dimmed, until the new one is. */
export function Loading<T>({ of: loaded, children }: { of: Loaded<T>; children: (value: T) => ReactNode }) {
	if (loaded.state === "failed") return <Failure error={loaded.error} onRetry={loaded.reload} />;
	if (loaded.value !== undefined)
		return (
			<div className="stack loaded" aria-busy={loaded.state === "loading"}>
				{children(loaded.value)}
			</div>
		);
	return (
		<div className="loader" role="status" aria-label="Loading">
			<Loader />
		</div>
	);
}
