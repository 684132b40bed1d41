import { Button } from "@cloudflare/kumo/components/button";
import { useEffect, useRef, useState } from "react";

/** Time between two parts of a recording. Milliseconds. */
const PART_MS = 250;

/** Records the microphone to a file, until it is stopped. Shows the recorded time. */
export function RecordButton({ onFile }: { onFile(file: File): void }) {
	const recorder = useRef<MediaRecorder>(undefined);
	const [recording, setRecording] = useState(false);
	const [recordedMs, setRecordedMs] = useState(0);
	const [problem, setProblem] = useState<string>();
	useEffect(() => () => release(recorder.current), []);

	async function start(): Promise<void> {
		setProblem(undefined);
		try {
			const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
			const started = new MediaRecorder(stream);
			const parts: Blob[] = [];
			started.ondataavailable = ({ data }) => {
				if (data.size === 0) return;
				parts.push(data);
				setRecordedMs(parts.length * PART_MS);
			};
			started.onstop = () => {
				const type = started.mimeType.split(";")[0] ?? "";
				if (parts.length === 0) setProblem("Nothing was recorded.");
				else onFile(new File(parts, `recording.${type.split("/")[1]}`, { type }));
			};
			setRecordedMs(0);
			started.start(PART_MS);
			recorder.current = started;
			setRecording(true);
		} catch {
			setProblem("The microphone cannot be used.");
		}
	}

	function stop(): void {
		release(recorder.current);
		setRecording(false);
	}

	return (
		<>
			<Button type="button" size="sm" onClick={() => (recording ? stop() : void start())}>
				{recording ? "Stop recording" : "Record"}
			</Button>
			{recording && <span role="timer">{(recordedMs / 1000).toFixed(1)} s</span>}
			{problem !== undefined && <span role="alert">{problem}</span>}
		</>
	);
}

/** Ends the recording, and the use of the microphone. */
function release(recorder: MediaRecorder | undefined): void {
	if (recorder === undefined || recorder.state === "inactive") return;
	recorder.stop();
	for (const track of recorder.stream.getTracks()) track.stop();
}
