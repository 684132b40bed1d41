import { Button } from "@cloudflare/kumo/components/button";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Plan } from "../models/plan.tsx";
import { InView } from "../parts/in-view.tsx";
import { NameField } from "../parts/name-field.tsx";
import { Section } from "../parts/page.tsx";
import { isPattern, matches } from "./patterns.ts";

interface Props {
	/** The chosen route: a model, or a pattern. Absent: none is chosen. */
	pattern: string | undefined;
	/** The names of the catalogue that the route serves. Without a route, all. */
	models: readonly string[];
}

/** The plan of a model. A route with a pattern has many, so one is chosen or typed. */
export function PlanForm({ pattern, models }: Props) {
	const model = pattern !== undefined && !isPattern(pattern) ? pattern : undefined;
	const [name, setName] = useState(model ?? "");
	const [explained, setExplained] = useState(model);
	const needsChoice = pattern !== undefined && model === undefined;
	const form = useRef<HTMLFormElement>(null);
	useEffect(() => {
		if (needsChoice) form.current?.querySelector("input")?.focus();
	}, [needsChoice]);

	function submit(event: FormEvent): void {
		event.preventDefault();
		if (name.trim() !== "") setExplained(name.trim());
	}

	return (
		<Section title="Plan of a model">
			<form className="filters" onSubmit={submit} ref={form}>
				<NameField
					label={needsChoice ? `Model of the route ${pattern}` : "Model"}
					placeholder={needsChoice ? pattern : "@cf/…"}
					required
					names={models}
					value={name}
					onChange={setName}
				/>
				<Button type="submit">Explain</Button>
			</form>
			{needsChoice && explained === undefined && (
				<p className="empty">
					{models.length > 0
						? `This route serves ${models.length} models of the catalogue. Choose one, or type the name of another.`
						: "This route serves no model of the catalogue. Type the name of a model."}
				</p>
			)}
			{needsChoice && explained !== undefined && !matches(pattern, explained) && (
				<p className="subtle">
					{explained} does not match {pattern}. Another route serves it.
				</p>
			)}
			{explained !== undefined && (
				<InView key={explained}>
					<Plan model={explained} />
				</InView>
			)}
		</Section>
	);
}
