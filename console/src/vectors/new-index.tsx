import { Input } from "@cloudflare/kumo/components/input";
import { Select } from "@cloudflare/kumo/components/select";
import { useState } from "react";
import type { VectorIndex } from "../api/types.ts";
import { SaveForm } from "../parts/save-form.tsx";
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

	async function send(): Promise<void> {
		const config = { dimensions: Number(dimensions), metric };
		onCreated(await api.send<VectorIndex>("POST", indexesPath(api), { name, config }));
	}

	return (
		<SaveForm title="New index" button="Create" onSend={send} onCancel={onCancel}>
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
		</SaveForm>
	);
}
