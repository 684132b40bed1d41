import { Tabs } from "@cloudflare/kumo/components/tabs";
import { useState } from "react";
import type { ModelRow } from "../api/types.ts";
import { Code } from "../parts/code.tsx";
import { callExamples } from "./call-examples.ts";

interface Props {
	model: ModelRow;
	input: Readonly<Record<string, unknown>>;
	account: string;
}

/** The call in the languages of other clients. */
export function CopyAs({ model, input, account }: Props) {
	const [chosen, setChosen] = useState<string>();
	const { name, task } = model;
	const examples = callExamples({ model: name, task: task.name, input, account, origin: location.origin });
	const shown = examples.find(({ title }) => title === chosen) ?? examples[0];
	return (
		<div className="stack tight">
			<Tabs
				size="sm"
				activateOnFocus
				tabs={examples.map(({ title }) => ({ value: title, label: title }))}
				value={shown?.title ?? ""}
				onValueChange={setChosen}
			/>
			{shown && <Code label={shown.title} text={shown.text} />}
		</div>
	);
}
