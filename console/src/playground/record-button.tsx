import { Button } from "@cloudflare/kumo/components/button";
import { useEffect, useRef, useState } from "react";

/** Records the microphone to a file, until it is stopped. */
export function RecordButton({ onFile }: { onFile(file: File): void }) {
	const recorder = useRef<MediaRecorder>(undefined);
	const [recording, setRecording] = useState(false);
	const [problem, setProblem] = useState<string>();
	useEffect(() => () => release(recorder.current), []);

	async function start(): Promise<void> {
		setProblem(undefined);
		try {
			const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
			const started = new MediaRecorder(stream);
			started.ondataavailable = ({ data }) => {
				if (data.size === 0) return;
				const type = data.type.split(";")[0] ?? "";
				onFile(new File([data], `recording.${type.split("/")[1]}`, { type }));
			};
			started.start();
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
