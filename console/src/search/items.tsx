import { Badge } from "@cloudflare/kumo/components/badge";
import { Button } from "@cloudflare/kumo/components/button";
import { useState } from "react";
import { errorOf } from "../api/error-of.ts";
import type { SearchItem } from "../api/types.ts";
import { useFollowing } from "../api/use-following.ts";
import { useLoad } from "../api/use-load.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { bytes, instant, integer } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { useSession } from "../session/session.ts";
import { ItemDetails } from "./item-details.tsx";

interface Props {
	/** Of the instance. */
	path: string;
	/** Changes with the items. */
	version: number;
	/** Loads again, because items are being indexed. */
	isFollowing: boolean;
	onChanged(): void;
}

const PER_PAGE = 20;
const VARIANTS = {
	queued: "info",
	running: "info",
	completed: "success",
	error: "error",
	skipped: "warning",
	outdated: "warning",
} as const;

const isWaiting = ({ status }: SearchItem): boolean => status === "queued" || status === "running";

export function Items({ path, version, isFollowing, onChanged }: Props) {
	const { api } = useSession();
	const [search, setSearch] = useState("");
	const [page, setPage] = useState(1);
	const [shown, setShown] = useState<SearchItem>();
	const [error, setError] = useState<Error>();
	const items = useLoad(
		(signal) =>
			api.get<SearchItem[]>(`${path}/items`, { page, per_page: PER_PAGE, search: search.trim() }, signal),
		[api, path, version, search, page],
	);
	// The sizes may have been read after these items, and say that none waits.
	useFollowing(isFollowing || (items.value?.result.some(isWaiting) ?? false), items);

	async function act(method: "PATCH" | "DELETE", { id }: SearchItem): Promise<void> {
		setError(undefined);
		setShown(undefined);
		try {
			await api.send(
				method,
				`${path}/items/${id}`,
				method === "PATCH" ? { next_action: "INDEX" } : undefined,
			);
			onChanged();
		} catch (failure) {
			setError(errorOf(failure));
		}
	}

	const columns: Column<SearchItem>[] = [
		{
			title: "Key",
			cell: (item) => (
				<button type="button" className="link" onClick={() => setShown(item)}>
					{item.key}
				</button>
			),
		},
		...COLUMNS,
		{
			title: "Actions",
			cell: (item) => (
				<div className="buttons">
					<Button size="sm" aria-label={`Index again: ${item.key}`} onClick={() => void act("PATCH", item)}>
						Index again
					</Button>
					<Button
						size="sm"
						variant="secondary-destructive"
						aria-label={`Delete ${item.key}`}
						onClick={() => void act("DELETE", item)}
					>
						Delete
					</Button>
				</div>
			),
		},
	];
	return (
		<>
			{error && <Failure error={error} />}
			{(search !== "" || (items.value?.info.total_count ?? 0) > PER_PAGE) && (
				<div className="filters">
					<SearchField
						label="Search items"
						value={search}
						onSearch={(text) => {
							setSearch(text);
							setPage(1);
						}}
					/>
				</div>
			)}
			<Loading of={items}>
				{({ result, info: { total_count: total = 0 } }) => (
					<>
						<DataTable
							label="Items"
							columns={columns}
							rows={result}
							rowKey={({ id }) => id}
							empty={search === "" ? "No items yet." : "No key contains this text."}
						/>
						{total > PER_PAGE && (
							<div className="buttons">
								<Button disabled={page === 1} onClick={() => setPage(page - 1)}>
									Before
								</Button>
								<Button disabled={page * PER_PAGE >= total} onClick={() => setPage(page + 1)}>
									Next
								</Button>
								<span className="subtle">
									{integer((page - 1) * PER_PAGE + 1)} to {integer(Math.min(page * PER_PAGE, total))} of{" "}
									{integer(total)}
								</span>
							</div>
						)}
					</>
				)}
			</Loading>
			{shown && (
				<ItemDetails
					key={shown.id}
					item={shown}
					path={`${path}/items/${shown.id}`}
					onClose={() => setShown(undefined)}
				/>
			)}
		</>
	);
}

const COLUMNS: readonly Column<SearchItem>[] = [
	{
		title: "State",
		cell: ({ status, error }) => (
			<>
				<Badge variant={VARIANTS[status]}>{status}</Badge> {error && <code>{error}</code>}
			</>
		),
	},
	{
		title: "Chunks",
		numeric: true,
		cell: ({ chunks_count }) => (chunks_count === null ? "–" : integer(chunks_count)),
	},
	{ title: "Size", numeric: true, cell: ({ file_size }) => bytes(file_size) },
	{ title: "Changed", cell: ({ last_seen_at }) => instant(last_seen_at) },
];
