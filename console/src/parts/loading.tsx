import { Loader } from "@cloudflare/kumo/components/loader";
import type { ReactNode } from "react";
import type { Loaded } from "../api/use-load.ts";
import { Failure } from "./failure.tsx";

/** Shows a value when it is there. An older value stays until the new one is. */
export function Loading<T>({ of: loaded, children }: { of: Loaded<T>; children: (value: T) => ReactNode }) {
	if (loaded.state === "failed") return <Failure error={loaded.error} />;
	if (loaded.value !== undefined) return children(loaded.value);
	return (
		<div role="status" aria-label="Loading">
			<Loader />
		</div>
	);
}
