import { Button } from "@cloudflare/kumo/components/button";
import { Loader } from "@cloudflare/kumo/components/loader";
import { Select } from "@cloudflare/kumo/components/select";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { answerOf, bodyOf } from "../api/client.ts";
import { errorOf } from "../api/error-of.ts";
import type { ModelRow, ModelSchema, ResponseUsage } from "../api/types.ts";
import { isFree } from "../models/facts.ts";
import { Failure } from "../parts/failure.tsx";
import { focusIfLost } from "../parts/focus.ts";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";
import { CopyAs } from "./copy-as.tsx";
import { type ExampleInput, exampleValues, inputOfForm } from "./example-input.ts";
import { type Form, taskForms } from "./fields.ts";
import { type Metrics, Stopwatch } from "./metrics.ts";
import { MetricsLine } from "./metrics-line.tsx";
import { type TaskOutput, TaskResult } from "./result.tsx";
import { TaskField } from "./task-field.tsx";
import { taskRequest } from "./task-request.ts";
import type { Values } from "./values.ts";

interface Props {
	model: ModelRow;
	schema: ModelSchema;
}

interface Done {
	output: TaskOutput;
	metrics: Metrics;
	values: Values;
}

/** A model of any task but chat: its form, from its schema, and its answer. */
export function Task({ model, schema }: Props) {
	const { api } = useSession();
	const forms = taskForms(schema.input);
	const [chosen, setChosen] = useState(0);
	const form = forms[chosen];
	const [values, setValues] = useState<Values>(() => exampleValues(forms, model.name));
	const [done, setDone] = useState<Done>();
	const [error, setError] = useState<Error>();
	const [running, setRunning] = useState(false);
	const abort = useRef<AbortController>(undefined);
	const runButton = useRef<HTMLButtonElement>(null);
	useEffect(() => () => abort.current?.abort(), []);
	// The button to stop is removed at the end of each run.
	useEffect(() => (running ? () => focusIfLost(runButton.current) : undefined), [running]);
	if (!form) return <Failure error={new Error("The playground has no form for this model")} />;

	async function submit(event: FormEvent, form: Form): Promise<void> {
		event.preventDefault();
		if (running) return;
		abort.current = new AbortController();
		const { signal } = abort.current;
		setRunning(true);
		setError(undefined);
		try {
			const { path, init } = await taskRequest(model.name, form, values);
			const stopwatch = new Stopwatch();
			const response = await api.fetch(api.account(path), { ...init, signal });
			const output = await outputOf(response);
			const metrics = stopwatch.metrics(response.headers, usageOf(output));
			setDone({ output, metrics, values });
		} catch (failure) {
			if (!signal.aborted) setError(errorOf(failure));
		}
		setRunning(false);
	}

	const required = form.fields.filter((field) => field.required);
	const optional = form.fields.filter((field) => !field.required);
	const field = (each: Form["fields"][number]) => (
		<TaskField
			key={each.name}
			field={each}
			value={values[each.name]}
			onChange={(value) => setValues((before) => ({ ...before, [each.name]: value }))}
		/>
	);
	return (
		<div className="stack">
			<form className="card stack" aria-label="Input" onSubmit={(event) => void submit(event, form)}>
				{forms.length > 1 && (
					<Select
						label="Form"
						value={String(chosen)}
						items={Object.fromEntries(forms.map(({ title }, index) => [String(index), title]))}
						onValueChange={(index) => setChosen(Number(index))}
					/>
				)}
				{required.map(field)}
				{optional.length > 0 && (
					<details open={required.length === 0}>
						<summary>Settings</summary>
						<div className="fields">{optional.map(field)}</div>
					</details>
				)}
				<div className="buttons">
					{/* A button that is disabled would lose the focus. */}
					<Button
						ref={runButton}
						type="submit"
						variant="primary"
						aria-disabled={running}
						icon={running ? <Loader size={14} /> : undefined}
					>
						Run
					</Button>
					{running && (
						<Button type="button" variant="destructive" onClick={() => abort.current?.abort()}>
							Stop
						</Button>
					)}
				</div>
			</form>
			{error && <Failure error={error} />}
			{done && (
				<div className="stack" aria-live="polite">
					<TaskResult output={done.output} values={done.values} />
					<MetricsLine metrics={done.metrics} free={isFree(model)} />
				</div>
			)}
			<Section title="Copy as">
				<CopyAs model={model} input={shownInput(form, values, model.name)} output={schema.output} />
			</Section>
		</div>
	);
}

async function outputOf(response: Response): Promise<TaskOutput> {
	const type = response.headers.get("content-type") ?? "";
	if (!type.startsWith("application/json")) return { kind: "file", file: await bodyOf(response.blob()) };
	const { result } = await answerOf<{ result: unknown }>(response, "result");
	return { kind: "json", value: result };
}

/** `usage` of the answer, if it has one. */
function usageOf(output: TaskOutput): ResponseUsage {
	const { usage }: { usage?: ResponseUsage } = output.kind === "json" ? Object(output.value) : {};
	return usage ?? {};
}

/** As the form is filled. While a field is not valid, the example. */
function shownInput(form: Form, values: Values, model: string): ExampleInput {
	try {
		return inputOfForm(form, values);
	} catch {
		return inputOfForm(form, exampleValues([form], model));
	}
}
