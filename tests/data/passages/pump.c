/* A pump and its log. */
#include <stdio.h>

#define LIMIT 400

struct pump {
    const char *name;
    int level;
};

/* Runs the pump until the level is reached. */
static int start(struct pump *pump, int wanted)
{
    if (wanted > LIMIT) {
        fprintf(stderr, "%s: refused %d\n", pump->name, wanted);
        return -1;
    }

    while (pump->level < wanted)
        pump->level++;

    return 0;
}

/* Lets the water out. */
static int drain(struct pump *pump)
{
    int before = pump->level;

    pump->level = 0;
    printf("%s: drained %d\n", pump->name, before);
    return before;
}

int main(void)
{
    struct pump north = {"north", 0};

    if (start(&north, 300) < 0)
        return 1;

    printf("%d\n", drain(&north));
    return 0;
}
