import { Button } from "@cloudflare/kumo/components/button";
import { useEffect, useRef, useState } from "react";
import { errorOf } from "../api/error-of.ts";
import type { ModelRow } from "../api/types.ts";
import { Failure } from "../parts/failure.tsx";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";
import { CopyAs } from "./copy-as.tsx";
import { type LiveEvent, startLive } from "./live-session.ts";

const INPUT = { fields: { encoding: "linear16", sample_rate: "16000" }, files: [] };

/** Transcribes the microphone while a person speaks. */
export function Live({ model }: { model: ModelRow }) {
	const { api } = useSession();
	const [turns, setTurns] = useState<readonly string[]>([]);
	const [running, setRunning] = useState(false);
	const [error, setError] = useState<Error>();
	const stop = useRef<() => void>(undefined);
	useEffect(() => () => stop.current?.(), []);

	async function start(): Promise<void> {
		setError(undefined);
		setTurns([]);
		setRunning(true);
		try {
			stop.current = await startLive(api, {
				model: model.name,
				onEvent: (event) => setTurns((before) => withEvent(before, event)),
				onEnd: (problem) => {
					setRunning(false);
					if (problem !== undefined) setError(new Error(problem));
				},
			});
		} catch (failure) {
			setRunning(false);
			setError(errorOf(failure));
		}
	}

	return (
		<div className="stack">
			<Section title="Live transcription">
				<div className="buttons">
					<Button
						variant={running ? "destructive" : "primary"}
						onClick={() => (running ? stop.current?.() : void start())}
					>
						{running ? "Stop" : "Start"}
					</Button>
				</div>
				{error && <Failure error={error} />}
				{turns.length === 0 && (
					<p className="empty">{running ? "Listening…" : "Start, and speak into the microphone."}</p>
				)}
				<ol className="turns" aria-live="polite" aria-label="Transcript">
					{turns.map((text, turn) => (
						// biome-ignore lint/suspicious/noArrayIndexKey: the number of a turn is its name.
						<li key={turn}>{text}</li>
					))}
				</ol>
			</Section>
			<Section title="Copy as">
				<CopyAs model={model} input={INPUT} live />
			</Section>
		</div>
	);
}

/** Each event has the complete transcript of its turn so far. */
function withEvent(turns: readonly string[], { turn_index, transcript }: LiveEvent): readonly string[] {
	if (turn_index === undefined || transcript === undefined) return turns;
	const after = [...turns];
	after[turn_index] = transcript;
	return after;
}
