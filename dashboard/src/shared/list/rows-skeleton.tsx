// What stands in the place of some rows until they come, at their height.
import { Skeleton } from '@mantine/core';

export interface RowsSkeletonProps {
  readonly rows?: number;
  readonly rowHeight?: number;
}

export function RowsSkeleton({ rows = 4, rowHeight = 62 }: RowsSkeletonProps) {
  return (
    <div aria-hidden="true">
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row without content is its place.
        <div key={index} style={{ height: rowHeight, paddingTop: 10 }}>
          <Skeleton height={14} width="28%" mb={8} />
          <Skeleton height={10} width="18%" />
        </div>
      ))}
    </div>
  );
}
