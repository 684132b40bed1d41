import { Badge } from "@cloudflare/kumo/components/badge";
import type { ModelRow } from "../api/types.ts";
import { capabilitiesOf } from "./facts.ts";

/** The task of a model, and its capabilities. */
export const ModelBadges = ({ row }: { row: ModelRow }) => (
	<>
		<Badge variant="outline">{row.task.name}</Badge>
		{capabilitiesOf(row).map((title) => (
			<Badge key={title} variant="secondary">
				{title}
			</Badge>
		))}
	</>
);
