import { Tabs } from "@cloudflare/kumo/components/tabs";
import { useState } from "react";
import type { ModelRow, ModelSchema } from "../api/types.ts";
import { Code } from "../parts/code.tsx";
import { useSession } from "../session/session.ts";
import { callExamples } from "./call-examples.ts";
import type { ExampleInput } from "./example-input.ts";

interface Props {
	model: ModelRow;
	input: ExampleInput;
	/** The schema of the model's answer. */
	output?: ModelSchema["output"] | undefined;
	live?: boolean;
}

/** The call in the languages of other clients. */
export function CopyAs({ model, input, output, live = false }: Props) {
	const { api, session } = useSession();
	const [chosen, setChosen] = useState<string>();
	const answerType = output?.contentType;
	const examples = callExamples({
		...input,
		model: model.name,
		task: model.task.name,
		account: api.credentials.account,
		origin: location.origin,
		open: session.access === "open",
		live,
		...(answerType !== undefined && answerType !== "application/json" && { answerType }),
	});
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
			{shown && "text" in shown && <Code label={shown.title} text={shown.text} />}
			{shown && "absent" in shown && <p className="empty">{shown.absent}</p>}
		</div>
	);
}
