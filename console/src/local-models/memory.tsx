import { Meter } from "@cloudflare/kumo/components/meter";
import type { LocalModels } from "../api/types.ts";
import { bytes } from "../parts/format.ts";

/** The memory of each loaded model, of all together, and the disk. */
export function Memory({ status }: { status: LocalModels }) {
	const { folder, memory_bytes: limit, disk_free_bytes: free, models } = status;
	const loaded = models.filter(({ loaded_bytes }) => loaded_bytes > 0);
	const used = loaded.reduce((sum, { loaded_bytes }) => sum + loaded_bytes, 0);
	const stored = models.filter(({ state }) => state !== "missing").reduce((sum, one) => sum + onDisk(one), 0);
	return (
		<div className="stack">
			<Bar label="Memory of loaded models (estimate)" value={used} max={limit} />
			{loaded.length > 1 &&
				loaded.map(({ name, loaded_bytes }) => (
					<Bar key={name} label={name} value={loaded_bytes} max={limit} />
				))}
			<Bar label={`Weights in ${folder}`} value={stored} max={stored + free} />
		</div>
	);
}

const onDisk = ({ size, progress }: LocalModels["models"][number]): number => progress?.done ?? size;

const Bar = ({ label, value, max }: { label: string; value: number; max: number }) => (
	<Meter
		label={label}
		value={Math.min(value, max)}
		max={Math.max(max, 1)}
		customValue={`${bytes(value)} of ${bytes(max)}`}
	/>
);
