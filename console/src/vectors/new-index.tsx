import { Button } from "@cloudflare/kumo/components/button";
import { Input } from "@cloudflare/kumo/components/input";
import { Select } from "@cloudflare/kumo/components/select";
import { type FormEvent, useEffect, useRef, useState } from "react";
import type { VectorIndex } from "../api/types.ts";
import { Failure } from "../parts/failure.tsx";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";
import { indexesPath } from "./paths.ts";

interface Props {
	onCreated(index: VectorIndex): void;
	onCancel(): void;
}

const METRICS = { cosine: "cosine", euclidean: "euclidean", "dot-product": "dot-product" } as const;
const MAX_DIMENSIONS = 1_536;

export function NewIndexForm({ onCancel, onCreated }: Props) {
	const { api } = useSession();
	const [name, setName] = useState("");
	const [dimensions, setDimensions] = useState("768");
	const [metric, setMetric] = useState<keyof typeof METRICS>("cosine");
	const [isSending, setIsSending] = useState(false);
	const [error, setError] = useState<Error>();
	const form = useRef<HTMLFormElement>(null);
	useEffect(() => form.current?.querySelector("input")?.focus({ preventScroll: true }), []);

	async function submit(event: FormEvent): Promise<void> {
		event.preventDefault();
		setError(undefined);
		setIsSending(true);
		try {
			const config = { dimensions: Number(dimensions), metric };
			onCreated(await api.send<VectorIndex>("POST", indexesPath(api), { name, config }));
		} catch (failure) {
			setError(failure instanceof Error ? failure : new Error(String(failure)));
			setIsSending(false);
		}
	}

	return (
		<Section title="New index">
			{error && <Failure error={error} />}
			<form className="stack" ref={form} onSubmit={(event) => void submit(event)}>
				<div className="filters">
					<Input
						label="Name"
						required
						maxLength={64}
						autoComplete="off"
						value={name}
						onChange={(event) => setName(event.target.value)}
					/>
					<Input
						label="Dimensions"
						type="number"
						required
						min={1}
						max={MAX_DIMENSIONS}
						value={dimensions}
						onChange={(event) => setDimensions(event.target.value)}
					/>
					<Select
						label="Metric"
						value={metric}
						items={METRICS}
						onValueChange={(chosen) => setMetric((chosen as keyof typeof METRICS | null) ?? "cosine")}
					/>
				</div>
				<div className="buttons">
					<Button type="submit" variant="primary" disabled={isSending}>
						Create
					</Button>
					<Button type="button" onClick={onCancel}>
						Cancel
					</Button>
				</div>
			</form>
		</Section>
	);
}
