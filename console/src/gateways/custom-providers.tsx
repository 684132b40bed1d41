import { Badge } from "@cloudflare/kumo/components/badge";
import { MAX_CUSTOM_PROVIDERS } from "../../../src/gateways/gateway-bounds.ts";
import { useLoad } from "../api/use-load.ts";
import type { Column } from "../parts/data-table.tsx";
import { instant } from "../parts/format.ts";
import { useSession } from "../session/session.ts";
import { CustomProviderForm } from "./custom-provider-form.tsx";
import { ManagedRows } from "./managed-rows.tsx";
import type { CustomProviderRow } from "./records.ts";

/** The custom providers of the account. */
export function CustomProviders() {
	const { api } = useSession();
	const path = api.account("/ai-gateway/custom-providers");
	const providers = useLoad(
		async (signal) =>
			(await api.get<CustomProviderRow[]>(path, { per_page: MAX_CUSTOM_PROVIDERS }, signal)).result,
		[api, path],
	);
	return (
		<ManagedRows
			title="Custom providers"
			label="Custom providers"
			noun="custom provider"
			path={path}
			rows={providers}
			columns={COLUMNS}
			idOf={({ id }) => id}
			nameOf={({ slug }) => slug}
			empty="No custom providers. A custom provider is an API of your own that all gateways of the account can call."
			deletion="The keys that gateways store for it are deleted too. Requests that name it are refused within five seconds."
			form={({ row, ...form }) => <CustomProviderForm provider={row} path={path} {...form} />}
		/>
	);
}

const COLUMNS: readonly Column<CustomProviderRow>[] = [
	{ title: "Provider in requests", cell: ({ slug }) => <code>{`custom-${slug}`}</code> },
	{ title: "Name", cell: ({ name }) => name },
	{ title: "Base URL", cell: ({ base_url }) => base_url },
	{ title: "Headers", cell: ({ headers }) => Object.keys(JSON.parse(headers ?? "{}")).join(", ") || "none" },
	{
		title: "State",
		cell: ({ enable }) => (
			<Badge variant={enable ? "success" : "warning"}>{enable ? "enabled" : "disabled"}</Badge>
		),
	},
	{ title: "Changed", cell: ({ modified_at }) => instant(modified_at) },
];
