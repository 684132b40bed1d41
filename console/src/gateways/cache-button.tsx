import { Button } from "@cloudflare/kumo/components/button";
import { useState } from "react";
import { errorOf } from "../api/error-of.ts";
import { Failure } from "../parts/failure.tsx";
import { integer } from "../parts/format.ts";
import { useSession } from "../session/session.ts";

/** Deletes the cached answers of a gateway. `path`: of the gateway. */
export function CacheButton({ path }: { path: string }) {
	const { api } = useSession();
	const [isSending, setIsSending] = useState(false);
	const [purged, setPurged] = useState<number>();
	const [error, setError] = useState<Error>();
	async function purge(): Promise<void> {
		setError(undefined);
		setPurged(undefined);
		setIsSending(true);
		try {
			setPurged((await api.send<{ purged: number }>("POST", `${path}/cache/purge`)).purged);
		} catch (failure) {
			setError(errorOf(failure));
		}
		setIsSending(false);
	}
	return (
		<>
			{error && <Failure error={error} />}
			<div className="buttons">
				<Button size="sm" disabled={isSending} onClick={() => void purge()}>
					Empty the cache
				</Button>
				<span role="status">
					{purged !== undefined && `${integer(purged)} ${purged === 1 ? "answer" : "answers"} deleted.`}
				</span>
			</div>
		</>
	);
}
