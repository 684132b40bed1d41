import { Button } from "@cloudflare/kumo/components/button";
import { Facts } from "../parts/facts.tsx";
import { decimal, instant, integer } from "../parts/format.ts";
import { Section } from "../parts/page.tsx";
import { Comparisons } from "./comparisons.tsx";
import type { Replay } from "./records.ts";

interface Props {
	replay: Replay;
	/** The path of the replay. */
	path: string;
	onClose(): void;
}

/** The answers beside those of the log. They exist when the replay has ended. */
export function ReplayResults({ replay, path, onClose }: Props) {
	const { judge, usage, waiting } = replay;
	return (
		<Section title={`Answers of ${replay.model}`} actions={<Button onClick={onClose}>Close</Button>}>
			{waiting && (
				<p className="plain" role="status">
					No log is sent until {instant(waiting.until)}, or before if a limit is raised: {waiting.message}
				</p>
			)}
			<Facts
				rows={[
					["Judge", judge],
					["Input tokens", integer(usage.input_tokens)],
					["Output tokens", integer(usage.output_tokens)],
					["Neurons", decimal(usage.neurons)],
					["Without the discount", decimal(usage.neurons_without_discount)],
				]}
			/>
			<Comparisons
				path={`${path}/results`}
				hasJudge={judge !== null}
				version={replay.ended_at}
				empty={
					replay.ended_at === null
						? "The answers are shown when the replay has ended."
						: "There are no answers: their logs were deleted, or none was sent."
				}
			/>
		</Section>
	);
}
