import { Button } from "@cloudflare/kumo/components/button";

interface Props {
	/** From 1 on. */
	page: number;
	hasOlder: boolean;
	onPage(page: number): void;
}

/** Buttons to the pages of a list, the latest rows first. Nothing if there is one page. */
export const Pager = ({ page, hasOlder, onPage }: Props) =>
	(page > 1 || hasOlder) && (
		<div className="buttons">
			<Button disabled={page === 1} onClick={() => onPage(page - 1)}>
				Newer
			</Button>
			<Button disabled={!hasOlder} onClick={() => onPage(page + 1)}>
				Older
			</Button>
		</div>
	);
