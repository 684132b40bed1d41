import { Select } from "@cloudflare/kumo/components/select";
import { useMemo } from "react";
import { Link } from "react-router";
import type { CatalogRow, ModelRow } from "../api/types.ts";
import { ModelBadges } from "../models/badges.tsx";
import { useCatalog } from "../models/catalog.ts";
import { capabilitiesOf, contextOf } from "../models/facts.ts";
import { integer } from "../parts/format.ts";
import { hasWords } from "../parts/has-words.ts";
import { Loading } from "../parts/loading.tsx";
import { Page } from "../parts/page.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { useParameters } from "../parts/use-parameters.ts";

const ALL = "all";

export default function Models() {
	const models = useCatalog();
	return (
		<Page title="Models">
			<Loading of={models}>{(rows) => <ModelList rows={rows} />}</Loading>
		</Page>
	);
}

/** The filters are in the address, so that a reload and a link keep them. */
function ModelList({ rows }: { rows: readonly CatalogRow[] }) {
	const [{ search, task, capability }, set] = useParameters({ search: "", task: ALL, capability: ALL });
	const found = useMemo(
		() => rows.filter((row) => matches(row, { search, task, capability })),
		[rows, search, task, capability],
	);
	const unserved = found.filter((row) => !row.served);
	return (
		<>
			<div className="filters">
				<SearchField label="Search models" value={search} onSearch={(text) => set({ search: text })} />
				<Filter
					label="Task"
					value={task}
					values={rows.map(({ task }) => task.name)}
					onChange={(value) => set({ task: value })}
				/>
				<Filter
					label="Capability"
					value={capability}
					values={rows.flatMap(capabilitiesOf)}
					onChange={(value) => set({ capability: value })}
				/>
			</div>
			<p role="status" className="subtle">
				{found.length === 1 ? "1 model" : `${integer(found.length)} models`}
			</p>
			{found.length === 0 && <p className="empty">No model matches these filters.</p>}
			<Cards rows={found.filter((row) => row.served)} />
			{unserved.length > 0 && (
				<details>
					<summary>
						{integer(unserved.length)} models of the catalogue that no route of this gateway serves
					</summary>
					<Cards rows={unserved} />
				</details>
			)}
		</>
	);
}

const Cards = ({ rows }: { rows: readonly ModelRow[] }) => (
	<ul className="model-list">
		{rows.map((row) => (
			<li key={row.id} className="card">
				<Link to={`/models/${row.name}`}>{row.name}</Link>
				<p>{row.description}</p>
				<div className="badges">
					<ModelBadges row={row} />
					<Context row={row} />
				</div>
			</li>
		))}
	</ul>
);

function Context({ row }: { row: ModelRow }) {
	const tokens = contextOf(row);
	return tokens === undefined ? null : <span className="subtle">{integer(tokens)} tokens of context</span>;
}

interface FilterProps {
	label: string;
	value: string;
	values: readonly string[];
	onChange(value: string): void;
}

function Filter({ label, value, values, onChange }: FilterProps) {
	const names = [...new Set(values)].sort();
	return (
		<Select
			label={label}
			value={value}
			onValueChange={(chosen) => onChange(chosen ?? ALL)}
			items={{ [ALL]: "All", ...Object.fromEntries(names.map((name) => [name, name])) }}
		/>
	);
}

interface Filters {
	search: string;
	task: string;
	capability: string;
}

function matches(row: ModelRow, { search, task, capability }: Filters): boolean {
	return (
		(task === ALL || row.task.name === task) &&
		(capability === ALL || capabilitiesOf(row).includes(capability)) &&
		hasWords(`${row.name} ${row.description} ${row.tags.join(" ")}`, search)
	);
}
